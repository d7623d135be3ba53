-- The read model: a cache beside the entries, made anew from them whenever it is missing or of another version.
-- No migration: a release that does not know these tables writes entries without them, and the next reader applies those.

CREATE TABLE read_model (version INTEGER NOT NULL, position INTEGER NOT NULL);  -- the last entry that was applied

CREATE TABLE runs (
  run          TEXT PRIMARY KEY,
  began        INTEGER NOT NULL,
  agent        TEXT NOT NULL,
  status       TEXT NOT NULL,      -- empty: it depends on who holds the run
  started      TEXT NOT NULL,
  ended        TEXT,
  error        TEXT,
  work_session TEXT NOT NULL,
  label        TEXT NOT NULL,
  part         TEXT NOT NULL,
  chain        TEXT NOT NULL,      -- agents, each between line ends
  tokens       INTEGER NOT NULL,
  cost         REAL NOT NULL,
  seconds      REAL NOT NULL,
  until        TEXT NOT NULL,
  task         TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX runs_by_start ON runs (started, began);
CREATE INDEX runs_open ON runs (started, began) WHERE status IN ('', 'waiting');

CREATE TABLE run_texts (           -- apart, because it may be long and never changes
  run     TEXT PRIMARY KEY,
  request BLOB NOT NULL,
  words   TEXT NOT NULL            -- in lower case, for searching
) WITHOUT ROWID;

CREATE TABLE inbox (
  run      TEXT NOT NULL,
  id       TEXT NOT NULL,
  asked    INTEGER NOT NULL,   -- position of the entry that asked
  kind     TEXT NOT NULL,
  subject  TEXT NOT NULL,
  assignee TEXT NOT NULL,
  since    TEXT NOT NULL,
  deadline TEXT NOT NULL,
  outcome  TEXT NOT NULL,          -- what happens at the deadline
  answers  TEXT NOT NULL,
  status   TEXT NOT NULL,
  body     BLOB NOT NULL,          -- the whole item
  PRIMARY KEY (run, id)
) WITHOUT ROWID;
CREATE INDEX inbox_by_id ON inbox (id);
CREATE INDEX inbox_open ON inbox (since) WHERE status = 'open';

CREATE TABLE spend (
  run         TEXT NOT NULL,
  place       INTEGER NOT NULL,
  at          TEXT NOT NULL,
  session     TEXT NOT NULL,
  agent       TEXT NOT NULL,
  model       TEXT NOT NULL,
  failed      INTEGER NOT NULL,
  tokens_in   INTEGER NOT NULL,
  tokens_out  INTEGER NOT NULL,
  cache_read  INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  cost        REAL NOT NULL,
  PRIMARY KEY (run, place)
) WITHOUT ROWID;

CREATE TABLE records (           -- what outlives runs: tasks, plans, decisions, work sessions
  id           TEXT PRIMARY KEY,
  kind         TEXT NOT NULL,
  began        INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  version      INTEGER NOT NULL,
  created_at   TEXT NOT NULL,
  updated_at   TEXT NOT NULL,
  agent        TEXT NOT NULL,
  status       TEXT NOT NULL,
  work_session TEXT NOT NULL,
  title        TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX records_by_kind ON records (kind, began);
CREATE INDEX records_by_work_session ON records (work_session);
