/// What a case found, so that both sides provably did the same work.
package struct Checksum: Equatable, CustomStringConvertible {
    package var count = 0
    /// The prices, and for decoded cars the lengths of the texts, added up.
    package var sum = 0
    /// A hash of the ids in their order (Fowler, Noll and Vo's FNV-1a, 64 bits), zero where there are none.
    package private(set) var ids: UInt64 = 0

    package init(count: Int = 0, sum: Int = 0) {
        self.count = count
        self.sum = sum
    }

    package mutating func add(price: Int) {
        count += 1
        sum &+= price
    }

    package mutating func add(id: String) {
        count += 1
        var hash = ids == 0 ? 0xCBF2_9CE4_8422_2325 : ids
        for byte in id.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        ids = (hash ^ 0xFF) &* 0x100_0000_01B3
    }

    mutating func add(_ car: Car) {
        add(price: car.price)
        sum &+= car.id.utf8.count &+ car.seller.city.utf8.count &+ car.tags.count
    }

    package var description: String {
        "\(count)" + (sum == 0 ? "" : "/\(sum)") + (ids == 0 ? "" : "/" + String(ids, radix: 16))
    }
}
