"""What the reviewers can look at: one change, kept here so that the example needs no repository."""

from folkmoot import tool

CHANGE = """\
--- a/shop/discount.py
+++ b/shop/discount.py
@@ -1,4 +1,9 @@
 def price_after(discounts, price):
-    return price * (1 - sum(discounts))
+    for discount in discounts:
+        price = price * (1 - discount)
+    return round(price, 2)
+
+def voucher(db, code):
+    return db.execute(f"SELECT percent FROM vouchers WHERE code = '{code}'").fetchone()[0]
"""


@tool(effect="pure", access="read")
def change() -> str:
    """The change under review, as a unified diff."""
    return CHANGE
