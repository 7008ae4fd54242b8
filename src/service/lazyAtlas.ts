import type { Atlas } from './atlas';
import { AtlasReader } from './atlasReader';
import type { ServicePorts } from './ports';

/** A reader that loads the part which changes tasks when it is first needed. */
export class LazyAtlas extends AtlasReader {
  private readonly load: () => Promise<Atlas>;

  constructor(ports: ServicePorts) {
    const late: { drive?: () => Promise<Atlas> } = {};
    super(ports, async () => {
      if (late.drive === undefined) throw new Error('a store was asked for while its reader was made');
      return (await late.drive()).store;
    });
    let loaded: Promise<Atlas> | undefined;
    this.load = async () => (loaded ??= import('./atlas').then(({ Atlas }) => new Atlas(ports, this)));
    late.drive = this.load;
  }

  /** The use cases that change tasks. */
  async drive(): Promise<Atlas> {
    return this.load();
  }
}
