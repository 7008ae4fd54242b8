import { EventEmitter, once } from 'node:events';
import { type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the model does next. A turn that hangs never answers: the agent waits until it is killed. */
export type Turn =
  | { readonly text: string }
  /**
   * `escalated`: what runs outside the sandbox, which the user has to allow. Codex asks only then. `background`: what goes on
   * without the agent, in Claude Code.
   */
  | { readonly run: string; readonly escalated?: true; readonly background?: true }
  /** A subagent, where the agent has any; a subagent itself answers with a text. */
  | { readonly delegate: string }
  | { readonly write: { readonly path: string; readonly content: string } }
  | { readonly hang: true };

/** What an agent asked the model. */
export interface ModelRequest {
  /** How many tool results the conversation holds: the number of the turn that is played. */
  readonly turn: number;
  /** Whether it is a real turn: agents also ask for titles and summaries. */
  readonly played: boolean;
  /** The whole request, as JSON. */
  readonly body: string;
}

type Json = Readonly<Record<string, unknown>>;
interface Call {
  readonly name: string;
  /** In which group of tools it is, for Codex. */
  readonly namespace?: string;
  readonly input: Json;
}
interface Answer {
  readonly text: string;
  readonly call?: Call;
  readonly hangs?: true;
}

interface Protocol {
  readonly tools: (body: Json) => string[];
  readonly results: (body: Json) => number;
  readonly last: (body: Json) => string;
  readonly write: (response: ServerResponse, body: Json, answer: Answer, id: number) => void;
}

const SUMMARY = 'Summary by the scripted model: the work continues.';
const WANTS_SUMMARY = /summary of the conversation|detailed summary|CONTEXT CHECKPOINT/iu;
const SHELLS = ['Bash', 'exec_command', 'shell_command', 'shell', 'bash'];

const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The call of a turn, by the tools that the agent offers. */
function callOf(
  turn: Exclude<Turn, { text: string } | { hang: true } | { delegate: string }>,
  tools: readonly string[],
): Call {
  if ('write' in turn && tools.includes('Write'))
    return { name: 'Write', input: { file_path: turn.write.path, content: turn.write.content } };
  if ('write' in turn && tools.includes('write'))
    return { name: 'write', input: { filePath: turn.write.path, content: turn.write.content } };
  const command = 'run' in turn ? turn.run : `printf %s ${quoted(turn.write.content)} > ${quoted(turn.write.path)}`;
  const name = SHELLS.find((shell) => tools.includes(shell)) ?? 'Bash';
  const escalated = 'run' in turn && turn.escalated === true;
  const outside = escalated ? { sandbox_permissions: 'require_escalated', justification: 'It has to.' } : {};
  if (name === 'exec_command') return { name, input: { cmd: command, ...outside } };
  if (name === 'shell') return { name, input: { command: ['bash', '-lc', command] } };
  const background = 'run' in turn && turn.background === true ? { run_in_background: true } : {};
  return { name, input: { command, description: 'scripted', ...background } };
}

const SUBAGENTS = ['Agent', 'Task', 'task', 'spawn_agent'];

function delegated(prompt: string, tools: readonly string[]): Answer {
  const name = SUBAGENTS.find((each) => tools.includes(each));
  if (name === undefined) return { text: 'The subagent is done.' };
  if (name === 'spawn_agent')
    return { text: '', call: { name, namespace: 'collaboration', input: { task_name: 'part', message: prompt } } };
  const type = name === 'task' ? 'general' : 'general-purpose';
  return { text: '', call: { name, input: { description: 'a part of it', prompt, subagent_type: type } } };
}

function streamTo(response: ServerResponse): (event: string | undefined, data: unknown) => void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  return (event, data) => {
    response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`);
  };
}

/** Anthropic's Messages, as Claude Code speaks them. */
const MESSAGES: Protocol = {
  tools: (body) => list(body['tools']).map((tool) => String(tool['name'])),
  results: (body) =>
    list(body['messages'])
      .flatMap(({ content }) => list(content))
      .filter(({ type }) => type === 'tool_result').length,
  last: (body) => JSON.stringify(list(body['messages']).at(-1) ?? ''),
  write: (response, body, answer, count) => {
    const blocks: Json[] = [
      ...(answer.text === '' ? [] : [{ type: 'text', text: answer.text }]),
      ...(answer.call === undefined ? [] : [{ type: 'tool_use', id: `toolu_${count}`, ...answer.call }]),
    ];
    const stop = answer.call === undefined ? 'end_turn' : 'tool_use';
    const usage = { input_tokens: 1000 + count, output_tokens: 20 };
    const message = { id: `msg_${count}`, type: 'message', role: 'assistant', model: body['model'], usage };
    if (body['stream'] !== true) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...message, content: blocks, stop_reason: stop, stop_sequence: null }));
      return;
    }
    const send = streamTo(response);
    const typed = (type: string, data: Json): void => send(type, { type, ...data });
    typed('message_start', { message: { ...message, content: [], stop_reason: null, stop_sequence: null } });
    for (const [index, block] of blocks.entries()) {
      const isText = block['type'] === 'text';
      typed('content_block_start', { index, content_block: { ...block, ...(isText ? { text: '' } : { input: {} }) } });
      const delta = isText
        ? { type: 'text_delta', text: block['text'] }
        : { type: 'input_json_delta', partial_json: JSON.stringify(block['input']) };
      typed('content_block_delta', { index, delta });
      typed('content_block_stop', { index });
    }
    typed('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 20 } });
    typed('message_stop', {});
    response.end();
  },
};

/** OpenAI's Responses, as Codex speaks them. */
const RESPONSES: Protocol = {
  tools: (body) =>
    list(body['tools'])
      .flatMap((tool) => [tool, ...list(tool['tools'])])
      .map((tool) => String(tool['name'] ?? tool['type'])),
  results: (body) => list(body['input']).filter(({ type }) => /_output$/u.test(String(type))).length,
  last: (body) => JSON.stringify(list(body['input']).at(-1) ?? ''),
  write: (response, _body, { text, call }, count) => {
    const id = `resp_${count}`;
    const content = [{ type: 'output_text', text, annotations: [] }];
    const item =
      call === undefined
        ? { type: 'message', id: `msg_${count}`, role: 'assistant', content }
        : {
            type: 'function_call',
            id: `fc_${count}`,
            call_id: `call_${count}`,
            name: call.name,
            ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
            arguments: JSON.stringify(call.input),
          };
    const usage = {
      input_tokens: 1000,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 1020,
    };
    const send = streamTo(response);
    const typed = (type: string, data: Json): void => send(type, { type, ...data });
    typed('response.created', { response: { id } });
    typed('response.output_item.added', { output_index: 0, item });
    typed('response.output_item.done', { output_index: 0, item });
    typed('response.completed', { response: { id, usage } });
    response.end();
  },
};

/** OpenAI's chat completions, as OpenCode speaks them. */
const COMPLETIONS: Protocol = {
  tools: (body) => list(body['tools']).map((tool) => String((tool['function'] as Json | undefined)?.['name'])),
  results: (body) => list(body['messages']).filter(({ role }) => role === 'tool').length,
  last: (body) => JSON.stringify(list(body['messages']).at(-1) ?? ''),
  write: (response, body, { text, call }, count) => {
    const send = streamTo(response);
    const base = { id: `chat_${count}`, object: 'chat.completion.chunk', created: 1, model: body['model'] };
    const made = { name: call?.name, arguments: JSON.stringify(call?.input ?? {}) };
    const delta =
      call === undefined
        ? { role: 'assistant', content: text }
        : { role: 'assistant', tool_calls: [{ index: 0, id: `call_${count}`, type: 'function', function: made }] };
    send(undefined, { ...base, choices: [{ index: 0, delta, finish_reason: null }] });
    const reason = call === undefined ? 'stop' : 'tool_calls';
    const usage = { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 };
    send(undefined, { ...base, choices: [{ index: 0, delta: {}, finish_reason: reason }], usage });
    response.end('data: [DONE]\n\n');
  },
};

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  '/v1/messages': MESSAGES,
  '/v1/responses': RESPONSES,
  '/v1/chat/completions': COMPLETIONS,
};

/**
 * A model that plays a script, on loopback alone: the turn played is the number of tool results that the conversation
 * holds. Past the end it says "Done.". A request that offers no tool, or asks for a summary, gets one line of summary.
 */
export class ScriptedModel {
  readonly requests: ModelRequest[] = [];
  private readonly seen = new EventEmitter();
  private count = 0;
  private by: 'results' | 'requests' = 'results';
  private readonly server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      this.answer(request.url?.split('?')[0] ?? '', text, response);
    });
  });

  private constructor(private turns: readonly Turn[]) {
    this.seen.setMaxListeners(0);
  }

  static async start(turns: readonly Turn[]): Promise<ScriptedModel> {
    const model = new ScriptedModel(turns);
    model.server.listen(0, '127.0.0.1');
    await once(model.server, 'listening');
    return model;
  }

  /**
   * Plays another script from now on.
   * @param by what the number of a turn is: how many tool results a request holds, or, where a compaction takes those away,
   * how many requests came before it
   */
  play(turns: readonly Turn[], by: 'results' | 'requests' = 'results'): void {
    this.turns = turns;
    this.by = by;
    this.requests.length = 0;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Waits until a turn is asked for. */
  async asked(turn: number): Promise<ModelRequest> {
    for (;;) {
      const found = this.requests.find((each) => each.played && each.turn >= turn);
      if (found !== undefined) return found;
      await once(this.seen, 'request');
    }
  }

  /** Waits until it is asked again, for whatever. */
  async next(): Promise<ModelRequest | undefined> {
    await once(this.seen, 'request');
    return this.requests.at(-1);
  }

  private answer(url: string, text: string, response: ServerResponse): void {
    const protocol = PROTOCOLS[url];
    if (protocol === undefined) {
      const counts = url.includes('count_tokens');
      response.writeHead(counts ? 200 : 404, { 'content-type': 'application/json' });
      response.end(counts ? '{"input_tokens":1000}' : '{}');
      return;
    }
    const body = JSON.parse(text) as Json;
    const tools = protocol.tools(body);
    const before = this.requests.filter((each) => each.played).length;
    const turn = this.by === 'results' ? protocol.results(body) : before;
    const played = tools.length > 0 && !WANTS_SUMMARY.test(protocol.last(body));
    this.requests.push({ turn, played, body: text });
    this.seen.emit('request');
    const answer = played ? this.turnOf(turn, tools, protocol.last(body)) : { text: SUMMARY };
    if (answer.hangs === true) return;
    this.count += 1;
    protocol.write(response, body, answer, this.count);
  }

  private turnOf(index: number, tools: readonly string[], last: string): Answer {
    const turn = this.turns[index];
    if (turn === undefined) return { text: 'Done.' };
    if ('hang' in turn) return { text: '', hangs: true };
    if ('delegate' in turn && last.includes(turn.delegate)) return { text: 'The subagent is done.' };
    if ('delegate' in turn) return delegated(turn.delegate, tools);
    return 'text' in turn ? turn : { text: '', call: callOf(turn, tools) };
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
