export { PlacementGroupsPage as default } from './EntityDetails';
