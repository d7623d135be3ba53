-- Leases no longer end by the server's clock: whoever wants a run watches the count of its renewals for a whole lease, by a clock of its own.
-- A process of release 0.1.0 that is still running is refused from here on (see `release`): it can neither write nor renew.

ALTER TABLE stream
  ADD lease   double precision NOT NULL DEFAULT 0,  -- seconds without a renewal after which others take over; 0: nobody owns it
  ADD renewal bigint NOT NULL DEFAULT 0,            -- counts claims and renewals
  ADD renewed double precision NOT NULL DEFAULT 0;  -- when that was, by moment(): a hint for people, nothing is decided by it
-- No lease was longer than this; those that ended long ago are watched for as long once more.
UPDATE stream SET lease = 60, renewed = until - 60 WHERE until > 0;
ALTER TABLE stream DROP until;

INSERT INTO release VALUES (2, '0.2.0');
