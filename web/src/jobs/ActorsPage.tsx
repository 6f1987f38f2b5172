export { ActorsPage as default } from './EntityDetails';
