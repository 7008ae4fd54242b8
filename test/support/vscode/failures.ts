/* Runs beside every test in a window: a failed one tells what it saw, before the next one changes it. */
import { afterEach } from 'vitest';
import { Workbench } from './workbench';

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await Workbench.tellWhatIsShown(task.name);
});
