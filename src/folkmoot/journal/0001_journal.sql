-- The journal of a project folder. Entries are only ever added.

CREATE TABLE release (
  version INTEGER PRIMARY KEY,  -- of this schema
  needs   TEXT NOT NULL         -- the first release of Folkmoot that can read it
);
INSERT INTO release VALUES (1, '0.1.0');

CREATE TABLE stream (
  number INTEGER PRIMARY KEY,
  name   TEXT NOT NULL UNIQUE,
  owner  TEXT NOT NULL DEFAULT '',
  epoch  INTEGER NOT NULL DEFAULT 0,   -- raised by each claim; 0: nobody ever owned it
  until  REAL NOT NULL DEFAULT 0       -- end of the lease, Unix time: other processes must be able to judge it
);

CREATE TABLE entry (
  seq     INTEGER PRIMARY KEY,
  stream  INTEGER NOT NULL REFERENCES stream,
  run_seq INTEGER NOT NULL,
  type    TEXT NOT NULL,
  id      BLOB NOT NULL,               -- SHA-256 of the text
  text    BLOB NOT NULL,               -- see codec.py; where its data is too large, what stands before the data
  data    BLOB                         -- then: the artifact that holds the data
);
CREATE INDEX entry_of_stream ON entry (stream);
CREATE INDEX entry_of_list ON entry (seq, type) WHERE type GLOB 'run.*' OR type GLOB 'session.*';

CREATE TABLE artifact (
  number  INTEGER PRIMARY KEY,
  id      BLOB NOT NULL UNIQUE,        -- SHA-256 of the content
  content BLOB NOT NULL,
  kept    REAL NOT NULL                -- Unix time; what was kept just now may be named in a moment
);

CREATE TABLE post (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  run  TEXT NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX post_of_run ON post (run);
