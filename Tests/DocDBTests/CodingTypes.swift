import Foundation

/// The types that coding tests write and read.
enum CodingTypes {
    struct Flat: Codable, Equatable {
        var name = "é\u{1F600}"
        var isOpen = true
        var count = -42
        var small: Int8 = -128
        var large = Int64.max
        var unsigned: UInt64 = 9_223_372_036_854_775_807
        var ratio = 0.1
        var single: Float = 0.1
        var missing: String?
        var present: Int? = 7
        var tags = ["a", "", "c"]
        var numbers = [1, -2, 3]
        var ratios = [0.5, 1.0, -0.25]
        var bytes = Data([0, 255, 7])
        var uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
        var url = URL(string: "https://example.com/a?b=c")!
        var decimal = Decimal(string: "12345678901234567890.123456789")!
        var date = Date(timeIntervalSinceReferenceDate: 717_171_717.25)
    }

    struct Nested: Codable, Equatable {
        struct Inner: Codable, Equatable {
            var x = 1
            var deeper: [Inner] = []
        }
        var inner = Inner(x: 2, deeper: [Inner(), Inner(x: 3, deeper: [Inner(x: 4)])])
        var byName = ["b": [1, 2], "a a": [], "c": [3]]
        var byNumber = [7: "seven", 5: "five"]
        var optionals: [Int?] = [1, nil, 3]
        var pairs = [["k": Optional(1.5), "n": nil]]
        var matrix = [[1.5, 2], [], [3]]
    }

    enum Shape: Codable, Equatable {
        case point
        case circle(radius: Double)
        case polygon([Int], closed: Bool)
    }

    enum State: String, Codable { case open, closed }

    struct WithEnums: Codable, Equatable {
        var shapes: [Shape] = [.point, .circle(radius: 2), .polygon([1, 2], closed: true)]
        var state = State.closed
    }

    class Base: Codable {
        var base = 1
        init() {}
    }

    /// Writes its superclass through `superEncoder`.
    final class Derived: Base {
        var derived = "d"
        enum Keys: CodingKey { case derived }

        override init() { super.init() }
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            derived = try container.decode(String.self, forKey: .derived)
            try super.init(from: container.superDecoder())
        }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(derived, forKey: .derived)
            try super.encode(to: container.superEncoder())
        }
    }

    /// Shares one container with its superclass, and writes one key twice.
    final class Shared: Base {
        var derived = "d"
        enum Keys: CodingKey { case derived, base }

        override init() { super.init() }
        required init(from decoder: any Decoder) throws {
            derived = try decoder.container(keyedBy: Keys.self).decode(String.self, forKey: .derived)
            try super.init(from: decoder)
        }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(99, forKey: .base)
            try container.encode(derived, forKey: .derived)
            try super.encode(to: encoder)
        }
    }

    /// Fills nested containers in turns.
    struct Interleaved: Codable, Equatable {
        var a = 1
        var b = 2
        enum Keys: CodingKey { case outer, list, a, b }

        init() {}
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            let outer = try container.nestedContainer(keyedBy: Keys.self, forKey: .outer)
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            b = try outer.decode(Int.self, forKey: .b)
            a = try outer.decode(Int.self, forKey: .a)
            var inner = try list.nestedUnkeyedContainer()
            guard try list.nestedContainer(keyedBy: Keys.self).decode(Int.self, forKey: .a) == a,
                try inner.decode(Int.self) == b, inner.isAtEnd, try list.decodeNil(), list.isAtEnd
            else { throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "")) }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            var outer = container.nestedContainer(keyedBy: Keys.self, forKey: .outer)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            try outer.encode(b, forKey: .b)
            var inner = list.nestedUnkeyedContainer()
            var object = list.nestedContainer(keyedBy: Keys.self)
            try outer.encode(a, forKey: .a)
            try object.encode(a, forKey: .a)
            try list.encodeNil()
            try inner.encode(b)
        }
    }

    /// A wrapper that encodes as what it holds.
    struct Wrapper<Content: Codable & Equatable>: Codable, Equatable {
        var content: Content
        init(_ content: Content) { self.content = content }
        init(from decoder: any Decoder) throws {
            content = try decoder.singleValueContainer().decode(Content.self)
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(content)
        }
    }
}
