// Two turns of one conversation, as the AI SDK holds it by default: the second names the items of the first by their ids.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";
import { readFileSync } from "node:fs";

const [baseURL, model, question] = process.argv.slice(2);
const openai = createOpenAI({ baseURL, apiKey: "none" });
const read_note = tool({
  description: "Reads the note.",
  inputSchema: z.object({}),
  execute: async () => readFileSync("note.txt", "utf8"),
});
const asking = { model: openai(model), tools: { read_note }, stopWhen: stepCountIs(5) };
const messages = [{ role: "user", content: question }];
const first = await generateText({ ...asking, messages });
messages.push(...first.response.messages, { role: "user", content: "Say it again." });
const second = await generateText({ ...asking, messages });
console.log(first.text);
console.log(second.text);
