import { createServer, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';

/** A function that acts on the window for the in-host suite; argument and result travel as JSON. */
export type UiStep = (page: Page, arg: never) => Promise<unknown>;

/** A server of UI steps on loopback. */
export interface UiServer {
  readonly url: string;
  close(): void;
}

/** Serves `steps` to the in-host suite: POST `[name, arg]`, answered by `{ result }` or `{ error }`. */
export async function serveUi(steps: Readonly<Record<string, UiStep>>, page: Page): Promise<UiServer> {
  const server = createServer((request, response) => {
    answer(steps, page, request).then(
      (result) => response.end(JSON.stringify({ result })),
      (error: unknown) => response.writeHead(500).end(JSON.stringify({ error: String(error) })),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

async function answer(steps: Readonly<Record<string, UiStep>>, page: Page, request: IncomingMessage) {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk as string;
  const [name, arg] = JSON.parse(body) as [string, never];
  const step = steps[name];
  if (step === undefined) throw new Error(`no UI step ${name}`);
  return step(page, arg);
}
