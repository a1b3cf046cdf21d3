export default "<p>a lazy module spoke</p>";
