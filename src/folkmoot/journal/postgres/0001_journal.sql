-- The journal of one project, in a schema of its own. Entries are only ever added.
-- Names and texts are bytes (UTF-8): PostgreSQL's own texts cannot hold the character NUL.

CREATE TABLE release (
  version integer PRIMARY KEY,      -- of this schema
  needs   text NOT NULL             -- the first release of Folkmoot that can read it
);
INSERT INTO release VALUES (1, '0.1.0');

-- Whoever writes locks this one row first and keeps it until the commit. So positions become visible in their order.
CREATE TABLE head (
  seq bigint NOT NULL               -- of the last entry
);
INSERT INTO head VALUES (0);

CREATE TABLE stream (
  name  bytea PRIMARY KEY,
  owner text NOT NULL,
  epoch bigint NOT NULL,            -- raised by each claim; 0: nobody ever owned it
  until double precision NOT NULL   -- end of the lease, by moment()
);

CREATE TABLE entry (
  seq     bigint PRIMARY KEY,
  stream  bytea NOT NULL,
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
  content bytea NOT NULL,
  kept    double precision NOT NULL -- by moment(); what was kept just now may be named in a moment
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

-- Leases and what is young go by the clock of the server, which is the same for all hosts: Unix time.
CREATE FUNCTION moment() RETURNS double precision LANGUAGE sql VOLATILE
  AS 'SELECT extract(epoch FROM clock_timestamp())::double precision';

-- Adds entries to streams that still are as their writer knows them; for most transactions, that is all of it. Gives the position before the first, or no row if a stream or the schema has changed or an artifact is gone; then nothing was written.
CREATE FUNCTION add(
  release_known integer, artifacts bytea[], names bytea[], epochs bigint[], ends bigint[],
  streams bytea[], run_seqs bigint[], types text[], ids bytea[], texts bytea[], datas bytea[]
) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE
  last bigint;
BEGIN
  SELECT seq INTO last FROM head FOR UPDATE;
  -- Each statement of a function sees what was committed before it began: all that was written under the lock.
  IF release_known <> (SELECT max(version) FROM release) OR EXISTS (
    SELECT FROM unnest(names, epochs, ends) AS known (name, epoch, run_seq)
    WHERE (SELECT epoch FROM stream WHERE stream.name = known.name) IS DISTINCT FROM known.epoch
    OR (SELECT coalesce(max(entry.run_seq), 0) FROM entry WHERE stream = known.name) <> known.run_seq
  ) OR (SELECT count(*) FROM artifact WHERE id = ANY(artifacts)) < cardinality(artifacts) THEN
    RETURN;
  END IF;
  INSERT INTO entry SELECT last + place, new.stream, new.run_seq, new.type, new.id, new.text, new.data
    FROM unnest(streams, run_seqs, types, ids, texts, datas)
    WITH ORDINALITY AS new (stream, run_seq, type, id, text, data, place);
  UPDATE head SET seq = last + cardinality(ids);
  PERFORM pg_notify(current_schema(), '');
  RETURN NEXT last;
END $$;
