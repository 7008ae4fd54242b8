/** How all rows of the Tasks tree look, in one module that is loaded with the first row. */
export { activityOf } from '../activity';
export { receiptRow, receiptTooltip } from './receiptRow';
export {
  checkpointRow,
  checkpointTooltip,
  damagedRow,
  diskText,
  eventRow,
  groupRow,
  listFiles,
  stepRow,
  taskRow,
} from './rows';
export { taskTooltip } from '../taskTooltip';
