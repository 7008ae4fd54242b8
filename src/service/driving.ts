import type { Atlas } from './atlas';
import type { AtlasReader } from './atlasReader';
import type { ServicePorts } from './ports';

/** Loads the use cases that change tasks. A bundle that leaves them out puts one here that another bundle has. */
export async function drivingAtlas(ports: ServicePorts, reader: AtlasReader): Promise<Atlas> {
  const { Atlas } = await import('./atlas');
  return new Atlas(ports, reader);
}
