/* A process that works on a task as an agent does under `atlas run`: owns it, says so, and goes on until it is killed. */
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';

const [, , root = '', workspace = '', id = '', stepIndex = '', attempt = ''] = process.argv;
const atlas = new Atlas(systemPorts(root, 'test', silentLog));
atlas.owners.adopt({ workspace, id }, 'agent', { stepIndex: Number(stepIndex), attempt: Number(attempt) });
process.stdout.write('at work\n');
setInterval(() => atlas.owners.touch({ workspace, id }, 'agent'), 60_000);
