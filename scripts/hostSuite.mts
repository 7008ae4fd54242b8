/* Runs the in-host suite: [--desktop] [--version 4.139.1] */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { OUT } from '../test/support/project.ts';
import { hostVersion } from '../test/support/vscode/install.ts';
import { runHostSuite } from '../test/support/vscode/suite.ts';

const { values } = parseArgs({
  options: { desktop: { type: 'boolean', default: false }, version: { type: 'string' }, report: { type: 'string' } },
});

await runHostSuite({
  version: hostVersion(values.version ?? process.env['HOST_VERSION']),
  desktop: values.desktop,
  report: values.report ?? path.join(OUT, 'reports', 'host.json'),
});
