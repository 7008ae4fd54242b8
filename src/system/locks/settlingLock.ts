import { GenerationLock } from './lock';

/** A lock whose holder a person can declare gone; apart from the lock itself, which every window loads when it opens. */
export class SettlingLock extends GenerationLock {
  /**
   * Ends the hold of a holder that can't be seen from here, since a person says that it is gone: takes the next number,
   * as for a dead one, and lets it go at once. Nothing is written into the holder's own file: if it lives after all, it
   * finds the higher number and gives way. Only the generation that was asked about; `false` if it isn't held any more,
   * or its holder provably lives.
   */
  settle(generation: number): boolean {
    const state = this.inspect();
    if (state.kind !== 'held' || state.generation !== generation) return false;
    if (state.holder !== undefined && this.ports.processes.vitality(state.holder) === 'alive') return false;
    const path = this.pathOf(generation + 1);
    if (!this.make(path)) return false;
    this.hold(generation + 1, path).release();
    return true;
  }
}
