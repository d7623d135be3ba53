"""Which addresses are public."""

import pytest

from folkmoot.tools.builtin.web import refusal

CLOSED = """
    127.0.0.1 127.255.255.254 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 224.0.0.1
    240.0.0.1 255.255.255.255 192.0.2.1 198.18.0.1 192.88.99.1
    :: ::1 fe80::1 fe80::1%eth0 fc00::1 fd12::1 fec0::1 ff02::1 2001:db8::1 2001::1
    ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::a00:1 64:ff9b:1::1
    2002:7f00:1:: 2002:a9fe:a9fe::1
""".split()
OPEN = "8.8.8.8 93.184.216.34 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::".split()


@pytest.mark.parametrize("address", CLOSED)
def test_an_address_that_is_not_public_is_refused_however_it_is_spelt(address):
    """Issue 5."""
    assert refusal("a.example", address, ()) == f"a.example is at {address}, which is not a public address"


@pytest.mark.parametrize("address", OPEN)
def test_a_public_address_is_open(address):
    assert refusal("a.example", address, ()) == ""


@pytest.mark.parametrize(
    ("host", "address", "allow", "open"),
    [
        ("a.example", "10.1.2.3", "10.0.0.0/8", True),
        ("a.example", "::ffff:10.1.2.3", "10.0.0.0/8", True),
        ("a.example", "11.1.2.3", "10.1.2.3", True),
        ("a.example", "127.0.0.1", "10.0.0.0/8", False),
        ("A.example.", "127.0.0.1", "a.example", True),
        ("b.a.example", "127.0.0.1", "a.example", False),
        ("a.example.evil", "127.0.0.1", "a.example", False),
        ("::1", "::1", "::1", True),
    ],
)
def test_settings_allow_hosts_addresses_and_networks(host, address, allow, open):
    assert (refusal(host, address, (allow,)) == "") is open
