import { describe, expect, it } from 'vitest';
import { hostsIn } from '../../support/vscode/server';

const HOST = '/server/node /server/bootstrap-fork --type=extensionHost --transformURIs';

describe('extension hosts in a table of processes', () => {
  it('are those of the server, the newest last', () => {
    const table = [
      '  100     1   100    02:10 /server/node /server/server-main.js',
      `  120   100   100    02:05 ${HOST}`,
      `  140   100   100       09 ${HOST}`,
      '  150   100   100    00:09 /server/node /server/bootstrap-fork --type=fileWatcher',
      `  900   800   800    00:01 ${HOST}`,
    ].join('\n');
    expect(hostsIn(table, 100)).toEqual([120, 140]);
  });

  it('are told apart by their age when process ids began again from below', () => {
    const table = [`  310 32000 32000       40 ${HOST}`, `32100 32000 32000 1-00:00:41 ${HOST}`].join('\n');
    expect(hostsIn(table, 32000)).toEqual([32100, 310]);
  });

  it('are not what a host is about to start, which has its arguments until it runs', () => {
    const table = [`  120   100   100    02:05 ${HOST}`, `  396   120   100    00:00 ${HOST}`].join('\n');
    expect(hostsIn(table, 100)).toEqual([120]);
  });
});
