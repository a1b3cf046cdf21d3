export default "lazy";
