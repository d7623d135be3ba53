-- The read model, as in ../tables.sql. Texts lose the character NUL, but for requests and items, which are bytes.

CREATE TABLE read_model (version bigint NOT NULL, position bigint NOT NULL);  -- the last entry that was applied

CREATE TABLE runs (
  run          text COLLATE "C" PRIMARY KEY,
  began        bigint NOT NULL,
  agent        text COLLATE "C" NOT NULL,
  status       text COLLATE "C" NOT NULL,      -- empty: it depends on who holds the run
  started      text COLLATE "C" NOT NULL,
  ended        text COLLATE "C",
  error        text COLLATE "C",
  work_session text COLLATE "C" NOT NULL,
  label        text COLLATE "C" NOT NULL,
  part         text COLLATE "C" NOT NULL,
  chain        text COLLATE "C" NOT NULL,      -- agents, each between line ends
  tokens       bigint NOT NULL,
  cost         double precision NOT NULL,
  seconds      double precision NOT NULL,
  until        text COLLATE "C" NOT NULL,
  task         text COLLATE "C" NOT NULL
);
CREATE INDEX runs_by_start ON runs (started, began);
CREATE INDEX runs_open ON runs (started, began) WHERE status IN ('', 'waiting');

CREATE TABLE run_texts (           -- apart, because it may be long and never changes
  run     text COLLATE "C" PRIMARY KEY,
  request bytea NOT NULL,
  words   text COLLATE "C" NOT NULL            -- in lower case, for searching
);

CREATE TABLE inbox (
  run      text COLLATE "C" NOT NULL,
  id       text COLLATE "C" NOT NULL,
  asked    bigint NOT NULL,   -- position of the entry that asked
  kind     text COLLATE "C" NOT NULL,
  subject  text COLLATE "C" NOT NULL,
  assignee text COLLATE "C" NOT NULL,
  since    text COLLATE "C" NOT NULL,
  deadline text COLLATE "C" NOT NULL,
  outcome  text COLLATE "C" NOT NULL,          -- what happens at the deadline
  answers  text COLLATE "C" NOT NULL,
  status   text COLLATE "C" NOT NULL,
  body     bytea NOT NULL,          -- the whole item
  PRIMARY KEY (run, id)
);
CREATE INDEX inbox_by_id ON inbox (id);
CREATE INDEX inbox_open ON inbox (since) WHERE status = 'open';

CREATE TABLE spend (
  run         text COLLATE "C" NOT NULL,
  place       bigint NOT NULL,
  at          text COLLATE "C" NOT NULL,
  session     text COLLATE "C" NOT NULL,
  agent       text COLLATE "C" NOT NULL,
  model       text COLLATE "C" NOT NULL,
  failed      bigint NOT NULL,
  tokens_in   bigint NOT NULL,
  tokens_out  bigint NOT NULL,
  cache_read  bigint NOT NULL,
  cache_write bigint NOT NULL,
  cost        double precision NOT NULL,
  PRIMARY KEY (run, place)
);

CREATE TABLE records (           -- what outlives runs: tasks, plans, decisions, work sessions
  id           text COLLATE "C" PRIMARY KEY,
  kind         text COLLATE "C" NOT NULL,
  began        bigint NOT NULL,
  position     bigint NOT NULL,
  version      bigint NOT NULL,
  created_at   text COLLATE "C" NOT NULL,
  updated_at   text COLLATE "C" NOT NULL,
  agent        text COLLATE "C" NOT NULL,
  status       text COLLATE "C" NOT NULL,
  work_session text COLLATE "C" NOT NULL,
  title        text COLLATE "C" NOT NULL
);
CREATE INDEX records_by_kind ON records (kind, began);
CREATE INDEX records_by_work_session ON records (work_session);
