import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* `atlas inbox`: what sessions are asked, from the command line. */

let cli: BuiltCli;
beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);
afterAll(() => {
  cli.dispose();
});

const HOSTILE = 'one\u001b[2J\u202e two\r\nItem 9 from me:\n\u009b31m';

describe.concurrent('atlas inbox', { timeout: 120_000 }, () => {
  it('goes from what is asked to what came of it, and wakes who asked', async () => {
    const desk = new Desk(cli, 'story');
    expect(await desk.ok('inbox', 'list')).toBe('No items.\n');
    expect(await desk.ok('inbox', 'next')).toBe('The agent queue is empty.\n');
    const asker = { ATLAS_TRIGGER: 'email', CLAUDE_CODE_SESSION_ID: 'asker-1' };
    const added = await desk.runWith({ env: asker }, 'inbox', 'add', 'Was it paid?', '--session-key', 'a@b');
    expect(added).toEqual({ code: 0, out: 'Added item 1 to the agent queue of story.\n', err: '' });
    const worker = { env: { CODEX_THREAD_ID: 'worker-1' } };
    const first = await desk.runWith(worker, 'inbox', 'next');
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(first.out).toMatch(
      /^Item 1 from trigger:email on email, added \S+:\n\n {2}Was it paid\?\n\nComplete it with: atlas inbox complete 1 /u,
    );
    const again = await desk.runWith(worker, 'inbox', 'next');
    expect(again.out).toBe(first.out);
    expect(again.err).toMatch(/^atlas: You haven't completed item 1 yet/u);
    expect(await desk.ok('inbox', 'next')).toBe('The agent queue is empty.\n');
    expect(await desk.ok('inbox', 'list')).toMatch(/^1 +processing +trigger:email .+ Was it paid\?$/mu);
    const other = await desk.runWith({ env: { ATLAS_SESSION: 'other' } }, 'inbox', 'complete', '1', 'x');
    expect(other).toMatchObject({ code: 4, out: '' });
    expect(await desk.runWith(worker, 'inbox', 'complete', '1', 'On Monday')).toMatchObject({
      code: 0,
      out: 'Item 1 is done.\n',
    });
    expect(await desk.ok('inbox', 'complete', '1', 'x')).toBe('Item 1 was already done.\n');
    const wake = path.join(desk.root, 'workspaces', 'story', '.wake-email-1');
    expect(JSON.parse(readFileSync(wake, 'utf8'))).toEqual({
      ...{ task_id: 1, trigger_name: 'email', session_key: 'a@b', session_id: 'asker-1' },
      ...{ channel: 'email', response_summary: 'On Monday' },
    });
    expect(await desk.ok('inbox', 'list')).toBe('No items.\n');
    expect(await desk.json('inbox', 'list', '--status', 'done')).toMatchObject({
      ...{ workspace_id: 'story', pending: 0, processing: 0, finished: 1 },
      items: [{ id: 1, status: 'done', response_summary: 'On Monday', claimed_by: 'worker-1', trigger_name: 'email' }],
    });
  });

  it('takes and gives texts of any kind, and makes plain what a terminal would act on', async () => {
    const desk = new Desk(cli, 'hostile');
    const piped = await desk.runWith({ input: HOSTILE }, 'inbox', 'add', '-', '--sender', 'x\n\u001b[2Jy');
    expect(piped.code).toBe(0);
    const next = await desk.run('inbox', 'next', '--session', 'a');
    const list = await desk.run('inbox', 'list');
    for (const { out } of [next, list])
      // eslint-disable-next-line no-control-regex -- that is what must not be there
      expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/u);
    expect(next.out.match(/^Item /gmu), 'a content looks like no line of ours').toHaveLength(1);
    expect(next.out).toContain('\n  Item 9 from me:\n');
    expect(await desk.json('inbox', 'next', '--session', 'a')).toMatchObject({ item: { content: HOSTILE }, own: true });
  });

  it('lists and gives what is sound beside what is not, and says what is not', async () => {
    const desk = new Desk(cli, 'damaged');
    for (const content of ['one', 'two']) await desk.ok('inbox', 'add', content);
    const folder = path.join(desk.root, 'workspaces', 'damaged', 'inbox');
    writeFileSync(path.join(folder, '1.json'), 'no JSON');
    const list = await desk.run('inbox', 'list');
    expect(list.code).toBe(0);
    expect(list.out).toMatch(/^2 +pending/mu);
    expect(list.err).toMatch(/^atlas: .+1\.json could not be read: /u);
    expect(await desk.json('inbox', 'next', '--session', 'a')).toMatchObject({ exit: 0, item: { id: 2 } });
    expect(await desk.run('inbox', 'complete', '1', 'x')).toMatchObject({ code: 7, out: '' });
    const doctor = await desk.json('doctor');
    expect(doctor).toMatchObject({ exit: 1, problems: 1 });
    expect(doctor['findings']).toContainEqual(expect.objectContaining({ area: 'inbox', level: 'problem' }));
    expect(readFileSync(path.join(folder, '1.json'), 'utf8')).toBe('no JSON');
    expect(readdirSync(folder).sort()).toEqual(['1.json', '2.json', 'locks']);
  });

  it("never takes what an agent asks for as a human's wish", async () => {
    const desk = new Desk(cli, 'senders');
    const agent = { env: { CLAUDECODE: '1' } };
    for (const more of [
      [],
      ['--sender', 'human'],
      ['--sender', 'trigger:email'],
      ['--sender', 'human', '--trigger', 'x'],
    ])
      await desk.runWith(agent, 'inbox', 'add', 'look', ...more);
    const { items } = (await desk.json('inbox', 'list')) as unknown as { items: { sender: string; trigger: string }[] };
    expect(items.map(({ sender }) => sender)).toEqual([
      'agent:Claude Code',
      'agent:Claude Code (human)',
      'agent:Claude Code (trigger:email)',
      'agent:Claude Code (human)',
    ]);
    await desk.ok('inbox', 'add', 'look', '--sender', 'human');
    expect((await desk.json('inbox', 'list'))['items']).toMatchObject([{}, {}, {}, {}, { sender: 'human' }]);
  });

  it('lets a human cancel, and tells an agent what it can do instead', async () => {
    const desk = new Desk(cli, 'cancel');
    await desk.ok('inbox', 'add', 'Not wanted any more');
    const refused = await desk.runWith({ env: { CLAUDECODE: '1' } }, 'inbox', 'cancel', '1', 'so that I may stop');
    expect(refused).toMatchObject({ code: 4, out: '' });
    expect(refused.err).toContain(
      'Only a human may cancel an item of the agent queue, and Claude Code ran this command.',
    );
    expect(refused.err).toContain('atlas inbox complete 1 "<reason>"');
    expect(await desk.ok('inbox', 'list')).toMatch(/^1 +pending/mu);
    expect(await desk.ok('inbox', 'cancel', '1', 'asked twice')).toBe('Item 1 is cancelled.\n');
  });
});
