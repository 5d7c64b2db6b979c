import DocDBCore
import DocDBQuery
import Testing

@Suite("Evaluator")
struct EvaluatorTests {
    private static let car: [String: Value] = [
        "_id": ["storeID": 7, "number": "A-12"], "make": "Toyota", "price": 9500, "rating": 4.5, "sold": false,
        "owner": nil, "tags": ["red", "fast", 3], "seller": ["name": "Ann", "city": "Köln", "age": 41],
        "parts": [["sku": "x1", "quantity": 2, "price": 10.5], ["sku": "x2", "quantity": 0, "price": 4], "loose"],
        "matrix": [[1, 2], [3, 4]], "odd key": ["b": true], "code": .bytes([0, 255]), "big": 9_007_199_254_740_993,
        "empty": [], "none": [:], "accent": "é", "text": "50% of_all\\x",
    ]

    @Test(
        "each operator and function on one document",
        arguments: [
            // Comparisons.
            ("make == 'Toyota'", true), ("make == 'toyota'", false), ("make != 'toyota'", true),
            ("'Toyota' == make", true), ("price < 9501", true), ("9501 > price", true), ("price >= 9500.0", true),
            ("price == 9500.0", true), ("rating > 4", true), ("rating < 5", true), ("big == 9007199254740993", true),
            ("big == 9007199254740992.0", false), ("big > 9007199254740992.0", true), ("code == x'00ff'", true),
            ("code > x'00fe'", true), ("code < x'00ff00'", true), ("sold == false", true), ("sold < true", true),
            ("sold", false), ("!sold", true), ("make", false), ("price == '9500'", false), ("price < 'z'", false),
            ("price > 'z'", false), ("make > 'Tango'", true), ("make >= 'Toyota'", true),
            // null and missing.
            ("owner == null", true), ("nothing == null", true), ("nothing == missing", true),
            ("owner == missing", false),
            ("owner != missing", true), ("nothing != null", false), ("make == null", false),
            ("nothing == nothing", false),
            ("nothing != nothing", true), ("owner == owner", true), ("null == null", true), ("null == missing", true),
            ("missing == missing", true), ("nothing <= null", true), ("nothing < null", false),
            ("exists(owner)", true), ("exists(nothing)", false), ("is_missing(nothing)", true),
            ("is_missing(owner)", false),
            ("nothing.deeper == null", true), ("make.length == missing", true),
            // Paths.
            ("seller.name == 'Ann'", true), ("seller['city'] == 'Köln'", true), ("`odd key`.b", true),
            ("seller == {name: 'Ann', city: 'Köln', age: 41.0}", true), ("seller == {name: 'Ann'}", false),
            ("tags[0] == 'red'", true), ("tags[-1] == 3", true), ("tags[3] == null", true),
            ("tags[-4] == missing", true),
            ("tags[*] == 'fast'", true), ("tags[*] == 'slow'", false), ("tags[*] != 'fast'", false),
            ("tags[] > 2", true),
            ("tags == ['red', 'fast', 3.0]", true), ("tags == ['red', 'fast']", false), ("tags.red == missing", true),
            ("parts.sku == missing", true), ("parts[*].sku == 'x2'", true),
            ("parts[? quantity > 0].sku == 'x2'", false),
            ("parts[? quantity > 0].sku == 'x1'", true), ("parts[? @ == 'loose'] == 'loose'", true),
            ("matrix[*][*] == 4", true), ("matrix[1][0] == 3", true), ("matrix[? @[0] == 3][1] == 4", true),
            ("matrix[? contains(@, 2)][*] == 1", true), ("matrix[*] == [3, 4]", true),
            ("exists(parts[? quantity > 5])", false), ("exists(parts[*].sku)", true), ("is_missing(empty[*])", true),
            ("empty[*] == null", true), ("empty[*] == missing", true), ("_id.storeID == 7", true),
            ("_id.number < 'B'", true),
            ("_id == {storeID: 7, number: 'A-12'}", true), ("_id == null", false),
            // in, between, like.
            ("make in ['Audi', 'Toyota']", true), ("make not in ['Audi']", true), ("price in [1, 9500.0]", true),
            ("owner in [1, null]", true), ("nothing in [null]", true), ("nothing in [1]", false),
            ("nothing not in [1]", true),
            ("'fast' in tags", true), ("'x1' in parts[*].sku", true), ("'red' in make", false), ("null in tags", false),
            ("tags[*] in ['fast']", true), ("tags in [['red', 'fast', 3]]", true),
            ("seller.age between 41 and 50", true),
            ("seller.age between 42 and 50", false), ("price between 'a' and 'z'", false),
            ("price not between 1 and 2", true),
            ("make like 'T%a'", true), ("make like '_oyota'", true), ("make like 'oyota'", false),
            ("make like '%yot%'", true),
            ("make like '%t_'", true), ("seller.city like 'K_ln'", true), ("seller.city like 'K__ln'", false),
            ("text like '50\\% of\\_all%'", true), ("text like '50_ of%\\\\x'", true), ("price like '9%'", false),
            ("accent like '_'", true), ("accent like '%_%_'", false), ("accent like '%_'", true),
            ("accent like '__'", false),
            ("seller.city like '%_ln'", true), ("seller.city like '%__n%n'", false), ("tags[*] like 'f%'", true),
            ("make not like '%'", false), ("price not like '%'", true),
            ("make like ''", false),
            // Functions.
            ("contains(tags, 'red')", true), ("contains(tags, 3.0)", true), ("contains(tags, 'r')", false),
            ("contains(make, 'yot')", true), ("contains(make, '')", true), ("contains(make, 'x')", false),
            ("contains(nothing, null)", false), ("contains(parts[*].sku, 'x1')", true), ("contains(price, 9)", false),
            ("starts_with(make, 'Toy')", true), ("starts_with(make, 'oy')", false), ("ends_with(make, 'ta')", true),
            ("ends_with(make, 'Toyotaa')", false), ("starts_with(tags[*], 'fa')", true),
            ("starts_with(price, '9')", false),
            ("regex(make, '^T.*a$')", true), ("regex(make, 'x')", false), ("regex(seller.city, '^K.ln$')", true),
            ("regex(tags[*], '^f')", true), ("length(make) == 6", true), ("length(seller.city) == 4", true),
            ("length(tags) == 3", true), ("length(seller) == 3", true), ("length(tags[*]) == 3", true),
            ("length(empty) == 0", true), ("length(empty[*]) == 0", true), ("length(price) == missing", true),
            ("length(nothing) == null", true), ("sum(parts[? exists(price)].price) == 14.5", true),
            ("sum(matrix[0]) == 3", true), ("sum(matrix[*][*]) == 10", true), ("sum(tags) == missing", true),
            ("sum(empty) == 0", true), ("sum(price) == missing", true), ("lower(make) == 'toyota'", true),
            ("upper(seller.city) == 'KÖLN'", true), ("lower(price) == missing", true),
            ("lower(tags[*]) == 'red'", true),
            ("lower(make) == lower('TOYOTA')", true), ("abs(-3) == 3", true), ("abs(price) == 9500", true),
            ("abs(make) == missing", true), ("type(make) == 'string'", true), ("type(price) == 'int'", true),
            ("type(rating) == 'float'", true), ("type(owner) == 'null'", true), ("type(sold) == 'bool'", true),
            ("type(code) == 'bytes'", true), ("type(tags) == 'array'", true), ("type(seller) == 'object'", true),
            ("type(nothing) == 'missing'", true), ("type(empty[*]) == 'missing'", true),
            ("upper(type(empty[*])) == 'MISSING'", true), ("length(type(empty[*])) == 0", true),
            ("type(lower(parts[*].price)) == 'missing'", true), ("length(lower(tags[*])) == 2", true),
            ("(make == 'x') == false", true),
            ("exists(make) == true", true), ("(sold) == false", true),
            // Logic.
            ("", true), ("true", true), ("false", false), ("1", false), ("sold || price > 1", true),
            ("!(sold && price > 1)", true), ("sold || make == 'x' || rating == 4.5", true),
        ])
    func table(_ predicate: String, _ expected: Bool) throws {
        #expect(try matches(Self.car, predicate) == expected, "\(predicate)")
    }
}
