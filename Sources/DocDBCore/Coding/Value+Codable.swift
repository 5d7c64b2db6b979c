extension Value: Codable {
    /// Reads a value of whatever kind the decoder holds; decoders of other formats have no bytes.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .int(value)
        } else if let value = try? container.decode(Double.self) {
            self = .float(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([Value].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: Value].self))
        }
    }

    /// Writes the value as what it is; bytes as an array of numbers where the encoder is of another format.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .float(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .bytes(let value): try container.encode(value)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }
}

extension DocumentID: Codable {
    /// Reads an id from a value that may be one.
    public init(from decoder: any Decoder) throws {
        try self.init(Value(from: decoder))
    }

    /// Writes the id as its value.
    public func encode(to encoder: any Encoder) throws {
        try value.encode(to: encoder)
    }
}
