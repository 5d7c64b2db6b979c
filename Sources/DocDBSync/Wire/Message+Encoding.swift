import DocDBCore

extension Message {
    /// Appends the message as a CBOR array.
    func append(to buffer: inout ByteBuffer) {
        switch self {
        case .hello(let hello): buffer.append(hello)
        case .proof(let proof):
            buffer.appendMessage(Number.proof, fieldCount: 2)
            buffer.appendCBOR(bytes: proof.bytes)
            buffer.appendCBOR(bytes: proof.grantHash)
        case .grant(let grant):
            buffer.appendMessage(Number.grant, fieldCount: 1)
            buffer.appendCBOR(bytes: grant)
        case .grantRequest: buffer.appendMessage(Number.grantRequest, fieldCount: 0)
        case .close(let code, let message):
            buffer.appendMessage(Number.close, fieldCount: 2)
            buffer.appendCBOR(code)
            buffer.appendCBOR(message)
        case .actors(let actors):
            buffer.appendMessage(Number.actors, fieldCount: 1)
            buffer.append(actors)
        case .interest(let interest): buffer.append(interest)
        case .reconcile(let ranges): buffer.append(Number.reconcile, ranges.number, ranges.bytes)
        case .ranges(let ranges): buffer.append(Number.ranges, ranges.number, ranges.bytes)
        case .begin(let begin):
            buffer.appendMessage(Number.begin, fieldCount: 5)
            buffer.append(begin.number)
            buffer.append(begin.snapshot)
            buffer.appendCBOR(begin.isReconciled)
            buffer.appendCBOR(begin.isChunk)
            if let count = begin.remainingCount { buffer.append(count) } else { buffer.appendCBORNull() }
        case .documents(let documents): buffer.append(Number.documents, documents.number, documents.content)
        case .end(let end): buffer.append(end)
        case .commit(let commit):
            buffer.appendMessage(Number.commit, fieldCount: 4)
            buffer.append(commit.number)
            buffer.append(commit.snapshot)
            buffer.appendCBOR(commit.sequence)
            buffer.appendCBOR(bytes: commit.content)
        case .acknowledge(let acknowledge):
            buffer.appendMessage(Number.acknowledge, fieldCount: 3)
            buffer.append(acknowledge.number)
            buffer.append(acknowledge.snapshot)
            buffer.append(acknowledge.except)
        case .sum(let sum):
            buffer.appendMessage(Number.sum, fieldCount: 3)
            buffer.append(sum.number)
            buffer.append(sum.snapshot)
            buffer.append(sum.total)
        case .credit(let count):
            buffer.appendMessage(Number.credit, fieldCount: 1)
            buffer.append(count)
        case .extra(let kind, let bytes): buffer.append(Number.extra, kind, bytes)
        case .ping: buffer.appendMessage(Number.ping, fieldCount: 0)
        case .pong: buffer.appendMessage(Number.pong, fieldCount: 0)
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func appendMessage(_ number: UInt64, fieldCount: Int) {
        appendArray(fieldCount + 1)
        append(number)
    }

    fileprivate mutating func append(_ number: UInt64, _ first: UInt64, _ bytes: [UInt8]) {
        appendMessage(number, fieldCount: 2)
        append(first)
        appendCBOR(bytes: bytes)
    }

    private mutating func appendArray(_ count: Int) { appendCBORHead(major: Major.array, UInt64(count)) }

    fileprivate mutating func append(_ number: UInt64) { appendCBORHead(major: Major.unsigned, number) }

    private mutating func append(high: UInt64, low: UInt64) {
        appendCBORHead(major: Major.bytes, 16)
        append(bigEndian: high)
        append(bigEndian: low)
    }

    fileprivate mutating func append(_ hello: Hello) {
        appendMessage(Message.Number.hello, fieldCount: 13)
        append(hello.lowestVersion)
        append(hello.highestVersion)
        appendCBOR(hello.appID)
        appendCBOR(bytes: hello.storeID)
        appendCBOR(hello.identityKind)
        appendCBOR(bytes: hello.peerKey)
        append(hello.actors)
        append(hello.wallNanoseconds)
        appendCBOR(bytes: hello.nonce)
        appendCBOR(hello.isKeeper)
        appendCBOR(hello.name)
        appendCBOR(hello.operatingSystem)
        appendCBOR(hello.softwareVersion)
    }

    fileprivate mutating func append(_ actors: [Hello.OwnedActor]) {
        appendArray(actors.count)
        for owned in actors {
            appendArray(2)
            append(high: owned.actor.high, low: owned.actor.low)
            appendCBOR(bytes: owned.nonce)
        }
    }

    fileprivate mutating func append(_ message: InterestMessage) {
        appendMessage(Message.Number.interest, fieldCount: 8)
        append(message.number)
        appendArray(message.origins.count)
        for announced in message.origins {
            appendArray(4)
            appendCBOR(bytes: announced.origin)
            append(announced.version)
            append(announced.hops)
            append(announced.interest)
        }
        if let cursor = message.cursor {
            appendArray(4)
            appendCBOR(bytes: cursor.incarnation)
            appendCBOR(cursor.sequence)
            append(high: cursor.interestHash.high, low: cursor.interestHash.low)
            append(cursor.epoch)
        } else {
            appendCBORNull()
        }
        appendCBOR(message.toldCount)
        append(high: message.toldSum.high, low: message.toldSum.low)
        append(message.epoch)
        appendArray(message.have.count)
        for held in message.have {
            appendArray(3)
            append(held.name)
            appendArray(2 * held.seen.elements.count)
            for element in held.seen.elements {
                append(high: element.actor.high, low: element.actor.low)
                append(element.time.rawValue)
            }
        }
        append(message.apart)
    }

    private mutating func append(_ interest: Interest) {
        switch interest {
        case .everything: appendCBOR(true)
        case .collections(let elements):
            appendArray(elements.count)
            for element in elements {
                appendArray(2)
                appendCBOR(element.collection)
                appendCBOR(element.predicate)
            }
        }
    }

    /// Appends collection and id as two fields.
    private mutating func append(_ name: DocumentName) {
        appendCBOR(name.collection)
        let uuid = name.id.withUnsafeBytes { WireID.uuid($0) }
        if let uuid {
            append(WireID.messageMark)
            append(high: uuid.0, low: uuid.1)
        } else {
            append(name.id)
        }
    }

    fileprivate mutating func append(_ outcomes: [DocumentOutcome]) {
        appendArray(outcomes.count)
        for outcome in outcomes {
            appendArray(5)
            append(outcome.name)
            append(outcome.code.rawValue)
            append(outcome.epoch)
            appendCBOR(outcome.reason)
        }
    }

    fileprivate mutating func append(_ end: End) {
        appendMessage(Message.Number.end, fieldCount: 3)
        append(end.number)
        if let position = end.position {
            appendArray(2)
            appendCBOR(bytes: position.incarnation)
            appendCBOR(position.sequence)
        } else {
            appendCBORNull()
        }
        if let total = end.total { append(total) } else { appendCBORNull() }
    }

    fileprivate mutating func append(_ total: ScopeTotal) {
        appendArray(2)
        appendCBOR(total.count)
        append(high: total.sum.high, low: total.sum.low)
    }
}
