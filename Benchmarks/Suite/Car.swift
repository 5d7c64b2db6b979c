/// A car as an app would declare it; what `scan-decode` decodes.
struct Car: Codable {
    struct Seller: Codable {
        var name: String
        var city: String
    }

    var id: String
    var make: String
    var model: String
    var state: String
    var price: Int
    var year: Int
    var mileage: Int
    var seller: Seller
    var tags: [String]

    enum CodingKeys: String, CodingKey {
        case id = "_id"
        case make, model, state, price, year, mileage, seller, tags
    }
}
