import { EntityView } from './EntityView';

export function WorkersPage() {
  return <EntityView view="workers" />;
}
