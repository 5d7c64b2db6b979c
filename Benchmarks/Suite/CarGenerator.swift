/// A 64-bit linear congruential generator with Knuth's MMIX constants; its upper 31 bits are the numbers.
package struct LinearCongruentialGenerator {
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

    package init() {}

    /// Returns the next number below `bound`, which lies between 1 and 2^31.
    package mutating func next(below bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % bound
    }
}

/// Makes the documents of the cars workload, one after the other, as JSON text.
///
/// The order in which numbers are drawn is part of the workload: each field draws its own, in the order of the text.
package struct CarGenerator {
    package private(set) var random = LinearCongruentialGenerator()
    private var number = 0
    private let makes: [[UInt8]]
    private let models: [[UInt8]]
    private let cities: [[UInt8]]
    private let tags: [[UInt8]]

    package init() {
        var random = LinearCongruentialGenerator()
        makes = (0..<20).map { _ in random.word(of: 3) }
        models = (0..<200).map { _ in
            let word = random.word(of: 2)
            return word + Array("-\(100 + random.next(below: 900))".utf8)
        }
        cities = (0..<100).map { _ in
            let first = random.word(of: 3)
            return first + Array(" ".utf8) + random.word(of: 3)
        }
        tags = (0..<60).map { _ in random.word(of: 4, capitalized: false) }
        self.random = random
    }

    /// Returns the id of the car with this number, counted from one.
    package static func id(ofNumber number: Int) -> String {
        let digits = String(number)
        return "car-" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }

    /// Appends the next car to `text`, without a newline.
    package mutating func appendNext(to text: inout [UInt8]) {
        number += 1
        text.append("{\"_id\": \"")
        text.append(Self.id(ofNumber: number))
        text.append("\", \"make\": \"")
        text += makes[random.next(below: 20)]
        text.append("\", \"model\": \"")
        text += models[random.next(below: 200)]
        text.append("\", \"state\": \"")
        text.append(state())
        text.append("\", \"price\": ")
        text.append(String(500 + random.next(below: 89_501)))
        text.append(", \"year\": ")
        text.append(String(1990 + random.next(below: 37)))
        text.append(", \"mileage\": ")
        text.append(String(random.next(below: 300_000)))
        text.append(", \"seller\": {\"name\": \"")
        text += random.word(of: 4)
        text.append(" ")
        text += random.word(of: 5)
        text.append("\", \"city\": \"")
        text += cities[random.next(below: 100)]
        text.append("\"}, \"tags\": [\"")
        for position in 0..<3 {
            if position > 0 { text.append("\", \"") }
            text += tags[random.next(below: 60)]
        }
        text.append("\"]}")
    }

    private mutating func state() -> String {
        switch random.next(below: 10) {
        case 0..<6: "for sale"
        case 6..<9: "sold"
        default: "reserved"
        }
    }

    /// Returns the numbers 0 up to `count` in a random order (Fisher and Yates, from the end).
    package mutating func shuffledNumbers(_ count: Int) -> [Int] {
        var numbers = Array(0..<count)
        for position in stride(from: count - 1, to: 0, by: -1) {
            numbers.swapAt(position, random.next(below: position + 1))
        }
        return numbers
    }

    /// Returns a new price for an update.
    package mutating func nextPrice() -> Int { 500 + random.next(below: 89_501) }
}

private let syllables: [[UInt8]] = [
    "ka", "lo", "mi", "ra", "ton", "ver", "sa", "del", "or", "in", "bel", "mar", "qui", "zen", "tho", "ful",
].map { Array($0.utf8) }

extension LinearCongruentialGenerator {
    fileprivate mutating func word(of count: Int, capitalized: Bool = true) -> [UInt8] {
        var word: [UInt8] = []
        for _ in 0..<count { word += syllables[next(below: 16)] }
        if capitalized { word[0] -= 0x20 }
        return word
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: String) { append(contentsOf: text.utf8) }
}
