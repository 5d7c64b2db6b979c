import DocDBCore

/// An encoder that writes to one node.
struct NodeEncoder: Encoder {
    let node: EncodedNode

    var codingPath: [any CodingKey] { node.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { node.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.become(.object)
        return KeyedEncodingContainer(KeyedNode<Key>(node: node))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.become(.array)
        return UnkeyedNode(node: node)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        node.become(.scalar)
        return UnkeyedNode(node: node)
    }
}

/// The members of one object.
struct KeyedNode<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: EncodedNode

    var codingPath: [any CodingKey] { node.codingPath }

    /// The node, with a member begun.
    @inline(__always)
    private func begin(_ key: Key) -> EncodedNode {
        node.begin(key.stringValue)
        return node
    }

    func encodeNil(forKey key: Key) throws { begin(key).write { $0.appendCBORNull() } }
    func encode(_ value: Bool, forKey key: Key) throws { begin(key).write { $0.appendCBOR(value) } }
    func encode(_ value: String, forKey key: Key) throws { begin(key).write { $0.appendCBOR(value) } }
    func encode(_ value: Double, forKey key: Key) throws { try begin(key).write(double: value) }
    func encode(_ value: Float, forKey key: Key) throws { try begin(key).write(double: Double(value)) }
    func encode(_ value: Int, forKey key: Key) throws { try begin(key).write(integer: value) }
    func encode(_ value: Int8, forKey key: Key) throws { try begin(key).write(integer: value) }
    func encode(_ value: Int16, forKey key: Key) throws { try begin(key).write(integer: value) }
    func encode(_ value: Int32, forKey key: Key) throws { try begin(key).write(integer: value) }
    func encode(_ value: Int64, forKey key: Key) throws { try begin(key).write(integer: value) }
    func encode(_ value: UInt, forKey key: Key) throws { try begin(key).write(integer: value) }
    func encode(_ value: UInt8, forKey key: Key) throws { try begin(key).write(integer: value) }
    func encode(_ value: UInt16, forKey key: Key) throws { try begin(key).write(integer: value) }
    func encode(_ value: UInt32, forKey key: Key) throws { try begin(key).write(integer: value) }
    func encode(_ value: UInt64, forKey key: Key) throws { try begin(key).write(integer: value) }
    func encode<E: Encodable>(_ value: E, forKey key: Key) throws { try begin(key).writeElement(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        NodeEncoder(node: begin(key).addChild()).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        NodeEncoder(node: begin(key).addChild()).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        node.begin("super")
        return NodeEncoder(node: node.addChild())
    }

    func superEncoder(forKey key: Key) -> any Encoder { NodeEncoder(node: begin(key).addChild()) }
}

/// The elements of one array, or the one value of a scalar.
struct UnkeyedNode: UnkeyedEncodingContainer, SingleValueEncodingContainer {
    let node: EncodedNode

    var codingPath: [any CodingKey] { node.codingPath }
    var count: Int { node.entries.count }

    func encodeNil() throws { node.write { $0.appendCBORNull() } }
    func encode(_ value: Bool) throws { node.write { $0.appendCBOR(value) } }
    func encode(_ value: String) throws { node.write { $0.appendCBOR(value) } }
    func encode(_ value: Double) throws { try node.write(double: value) }
    func encode(_ value: Float) throws { try node.write(double: Double(value)) }
    func encode(_ value: Int) throws { try node.write(integer: value) }
    func encode(_ value: Int8) throws { try node.write(integer: value) }
    func encode(_ value: Int16) throws { try node.write(integer: value) }
    func encode(_ value: Int32) throws { try node.write(integer: value) }
    func encode(_ value: Int64) throws { try node.write(integer: value) }
    func encode(_ value: UInt) throws { try node.write(integer: value) }
    func encode(_ value: UInt8) throws { try node.write(integer: value) }
    func encode(_ value: UInt16) throws { try node.write(integer: value) }
    func encode(_ value: UInt32) throws { try node.write(integer: value) }
    func encode(_ value: UInt64) throws { try node.write(integer: value) }
    func encode<E: Encodable>(_ value: E) throws { try node.writeElement(value) }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        NodeEncoder(node: node.addChild()).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        NodeEncoder(node: node.addChild()).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { NodeEncoder(node: node.addChild()) }
}
