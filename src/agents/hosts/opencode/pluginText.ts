import { MAY_DISCARD } from '../../../core/snapshot/discardingCommand';

/** What stands in the file of our plugin, and in no other. */
export const PLUGIN_MARK = '// Made by Atlas ("atlas lifecycle install --host opencode").';

/** The most bytes that wait for Atlas. */
const MAX_SPOOL_BYTES = 16 * 1024 * 1024;

const PLUGIN = `__MARK__ "atlas lifecycle uninstall --host opencode" removes it.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";

const FOLDER = __FOLDER__;
const MAX_BYTES = __MAX__;
const ATLAS = __ATLAS__;
const MAY_DISCARD = /__MAY_DISCARD__/;
const LOADED = Symbol.for("atlas-task-recovery");
const HEADLESS = process.argv.includes("run") ? 1 : "";
let count = 0;
let room = 0;

function startTime() {
  try {
    const stat = readFileSync("/proc/self/stat", "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return String(Math.round(Date.now() - process.uptime() * 1000));
  }
}

const START = startTime();

function hasRoom(size) {
  if (room < size) {
    let used = 0;
    for (const name of readdirSync(FOLDER)) used += statSync(FOLDER + "/" + name).size;
    room = Math.min(1024 * 1024, MAX_BYTES - used);
  }
  room -= size;
  return room >= 0;
}

function report(kind, session, data) {
  try {
    if (typeof session !== "string" || !existsSync(FOLDER)) return;
    const head = \`v1 pid=\${process.pid} start=\${START} ci=\${process.env.CI ? 1 : ""} run=\${process.env.ATLAS_AGENT ? 1 : ""} headless=\${HEADLESS}\`;
    const text = head + "\\n" + JSON.stringify({ kind, session_id: session, ...data });
    if (!hasRoom(text.length * 3)) return writeFileSync(FOLDER + "/dropped", ".", { flag: "a", mode: 0o600 });
    const name = FOLDER + "/opencode." + process.pid + "." + START + "." + String(++count).padStart(9, "0");
    try {
      writeFileSync(name + ".tmp", text, { mode: 0o600 });
      renameSync(name + ".tmp", name + ".json");
    } catch (error) {
      unlinkSync(name + ".tmp");
    }
  } catch {
    // Whatever is broken, OpenCode goes on.
  }
}

/** Has the files captured. OpenCode doesn't wait for it. */
function capture(event, session, cwd, command) {
  try {
    if (!existsSync(FOLDER)) return;
    const options = { shell: true, detached: true, windowsHide: true, cwd, stdio: ["pipe", "ignore", "ignore"] };
    const child = spawn(ATLAS + " lifecycle " + event, options);
    child.on("error", () => {});
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify({ session_id: session, cwd, command }));
    child.unref();
  } catch {
    // As above.
  }
}

/** What a tool is asked, but for contents of files. */
function asked(args) {
  const kept = {};
  for (const name of ["command", "filePath", "patchText", "description", "pattern", "url", "query", "todos"]) {
    if (args && args[name] !== undefined) kept[name] = args[name];
  }
  if (typeof kept.patchText === "string") {
    kept.patchText = kept.patchText.split("\\n").filter((line) => line.startsWith("*** ")).join("\\n");
  }
  return kept;
}

const EVENTS = {
  "session.created": ({ info }) => report("created", info.id, { cwd: info.directory, parent: info.parentID }),
  "session.status": ({ sessionID, status }) => report("status", sessionID, { status: status.type }),
  "session.idle": ({ sessionID }) => report("idle", sessionID, {}),
  "session.compacted": ({ sessionID }) => report("compacted", sessionID, {}),
  "session.deleted": ({ info }) => report("deleted", info.id, {}),
  "todo.updated": ({ sessionID, todos }) => report("todo", sessionID, { todos }),
  "permission.asked": (asking) => report("permission", asking.sessionID, { call: (asking.tool || {}).callID }),
  "permission.updated": (asking) => report("permission", asking.sessionID, { call: asking.callID }),
  "permission.replied": (reply) => report("replied", reply.sessionID, { reply: reply.reply || reply.response }),
  "message.part.updated": ({ part }) => {
    if (part.type === "patch") report("patch", part.sessionID, { files: part.files });
    if (part.type === "text" && part.time && part.time.end) report("text", part.sessionID, { text: part.text });
    if (part.type === "tool" && part.state.status === "error") {
      report("failed", part.sessionID, { tool: part.tool, call: part.callID });
    }
  },
};

export const AtlasTaskRecovery = async ({ directory }) => {
  // OpenCode loads every copy that it finds.
  if (globalThis[LOADED]) return {};
  globalThis[LOADED] = true;
  return {
    event: async ({ event }) => {
      try {
        EVENTS[event.type]?.(event.properties);
      } catch {
        // An event of another form says nothing.
      }
    },
    "chat.message": async (input, output) => {
      try {
        const parts = output.parts.filter((part) => part.type === "text" && !part.synthetic);
        report("request", input.sessionID, { cwd: directory, text: parts.map((part) => part.text).join("\\n") });
        capture("turn-start", input.sessionID, directory);
      } catch {
        // As above.
      }
    },
    "tool.execute.before": async (input, output) => {
      try {
        const args = asked(output.args);
        report("before", input.sessionID, { cwd: directory, tool: input.tool, call: input.callID, args });
        if (MAY_DISCARD.test(args.command)) capture("before-discard", input.sessionID, directory, args.command);
      } catch {
        // A throw here would stop the tool.
      }
    },
    "tool.execute.after": async (input, output) => {
      try {
        const exit = output.metadata && output.metadata.exit;
        report("after", input.sessionID, { tool: input.tool, call: input.callID, args: asked(input.args), exit });
      } catch {
        // As above.
      }
    },
  };
};
`;

/**
 * OpenCode's plugin: writes each event as a file of its own into a folder, and nothing where that folder isn't there. It
 * never waits, and nothing that goes wrong in it reaches OpenCode. Contents of files and outputs of tools are left out.
 * See https://opencode.ai/docs/plugins.
 * @param folder where reports wait
 * @param atlas how `atlas` is started, as a shell's words
 */
export function pluginText(folder: string, atlas: string): string {
  return PLUGIN.replace('__MARK__', () => PLUGIN_MARK)
    .replace('__FOLDER__', () => JSON.stringify(folder.replaceAll('\\', '/')))
    .replace('__ATLAS__', () => JSON.stringify(atlas))
    .replace('__MAY_DISCARD__', () => MAY_DISCARD)
    .replace('__MAX__', String(MAX_SPOOL_BYTES));
}

/** Whether a text is that of this version's plugin for a folder, however it starts `atlas`. */
export function isSamePlugin(text: string, folder: string): boolean {
  const other = (plugin: string): string => plugin.replace(/^const ATLAS = .*$/mu, '');
  return other(text) === other(pluginText(folder, ''));
}
