-- The journal of one project, in a schema of its own. Entries are only ever added.
-- Names and texts are bytes (UTF-8): PostgreSQL's own texts cannot hold the character NUL.

CREATE TABLE release (
  version integer PRIMARY KEY,      -- of this schema
  needs   text NOT NULL             -- the first release of Folkmoot that can read it
);
INSERT INTO release VALUES (1, '0.1.0');

-- Whoever writes locks this one row first and keeps it until the commit. So positions become visible in their order.
CREATE TABLE head (
  seq     bigint NOT NULL,          -- of the last entry
  streams bigint NOT NULL,          -- the number of the last stream
  change  bigint NOT NULL           -- raised by each transaction that writes, so that others see that they must look
);
INSERT INTO head VALUES (0, 0, 0);

CREATE TABLE stream (
  number bigint PRIMARY KEY,
  name   bytea NOT NULL UNIQUE,
  owner  text NOT NULL,
  epoch  bigint NOT NULL,           -- raised by each claim; 0: nobody ever owned it
  until  double precision NOT NULL  -- end of the lease, by moment()
);

CREATE TABLE entry (
  seq     bigint PRIMARY KEY,
  stream  bigint NOT NULL,
  run_seq bigint NOT NULL,
  type    text NOT NULL,
  id      bytea NOT NULL,           -- SHA-256 of the text
  text    bytea NOT NULL,           -- see codec.py; where its data is too large, what stands before the data
  data    bytea,                    -- then: the artifact that holds the data
  UNIQUE (stream, run_seq)
);
CREATE INDEX entry_of_list ON entry (seq) WHERE type LIKE 'run.%' OR type LIKE 'session.%';

CREATE TABLE artifact (
  id      bytea PRIMARY KEY,        -- SHA-256 of the content
  content bytea NOT NULL
);

CREATE TABLE post (
  id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run   bytea NOT NULL,
  kind  text NOT NULL,
  body  bytea NOT NULL,
  token bytea NOT NULL,             -- tells its sender, who lost the connection, that it arrived
  taken boolean NOT NULL DEFAULT false
);
CREATE INDEX post_of_run ON post (run) WHERE NOT taken;

-- Leases go by the clock of the server, which is the same for all hosts: Unix time.
CREATE FUNCTION moment() RETURNS double precision LANGUAGE sql VOLATILE
  AS 'SELECT extract(epoch FROM clock_timestamp())::double precision';
