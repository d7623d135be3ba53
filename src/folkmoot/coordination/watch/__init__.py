"""The watch: what is due because nobody works on a task (`rules`), judged by what it sees (`sight`) and when that was
(`moments`), and what it then says to whom (`telling`). Pure; `engine.watch` performs."""
