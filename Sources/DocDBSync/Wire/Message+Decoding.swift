import DocDBCore

extension Message {
    /// Reads one whole message; nil where its number is unknown.
    static func read(_ bytes: UnsafeRawBufferPointer) throws(CBORError) -> Message? {
        var reader = FieldReader(bytes)
        let count = try reader.array(atMost: .max)
        guard count > 0 else { throw .malformed }
        let number = try reader.unsigned()
        guard let fieldCount = fieldCount(number) else {
            try reader.skip(count - 1)
            guard reader.isAtEnd else { throw .malformed }
            return nil
        }
        guard count - 1 >= fieldCount else { throw .malformed }
        let message = try read(number, &reader)
        try reader.skip(count - 1 - fieldCount)
        guard reader.isAtEnd else { throw .malformed }
        return message
    }

    /// How many fields a message of this number has at least, nil where it is unknown.
    private static func fieldCount(_ number: UInt64) -> Int? {
        switch number {
        case Number.hello: 13
        case Number.interest: 8
        case Number.begin: 5
        case Number.commit: 4
        case Number.end, Number.acknowledge, Number.sum: 3
        case Number.proof, Number.close, Number.reconcile, Number.ranges, Number.documents, Number.extra: 2
        case Number.grant, Number.actors, Number.credit: 1
        case Number.grantRequest, Number.ping, Number.pong: 0
        default: nil
        }
    }

    private static func read(_ number: UInt64, _ reader: inout FieldReader) throws(CBORError) -> Message {
        switch number {
        case Number.hello: .hello(try Hello(&reader))
        case Number.proof:
            .proof(
                Proof(
                    bytes: try reader.bytes(atMost: SyncLimits.keyByteCount),
                    grantHash: try reader.bytes(atMost: SyncLimits.keyByteCount)))
        case Number.grant: .grant(try reader.bytes(atMost: SyncLimits.grantByteCount))
        case Number.grantRequest: .grantRequest
        case Number.close:
            .close(
                code: try reader.text(atMost: SyncLimits.textByteCount),
                message: try reader.text(atMost: SyncLimits.textByteCount))
        case Number.actors: .actors(try reader.actors())
        case Number.interest: .interest(try InterestMessage(&reader))
        case Number.reconcile: .reconcile(try RangesMessage(&reader))
        case Number.ranges: .ranges(try RangesMessage(&reader))
        case Number.begin: .begin(try Begin(&reader))
        case Number.documents:
            .documents(DocumentsMessage(number: try reader.unsigned(), content: try reader.bytes(atMost: .max)))
        case Number.end: .end(try End(&reader))
        case Number.commit:
            .commit(
                CommitMessage(
                    number: try reader.unsigned(), snapshot: try reader.unsigned(), sequence: try reader.count(),
                    content: try reader.bytes(atMost: .max)))
        case Number.acknowledge:
            .acknowledge(
                Acknowledge(
                    number: try reader.unsigned(), snapshot: try reader.unsigned(), except: try reader.outcomes()))
        case Number.sum:
            .sum(
                SumMessage(number: try reader.unsigned(), snapshot: try reader.unsigned(), total: try reader.total()))
        case Number.credit: .credit(try reader.unsigned())
        case Number.extra: .extra(kind: try reader.unsigned(), try reader.bytes(atMost: .max))
        case Number.ping: .ping
        case Number.pong: .pong
        default: throw .malformed
        }
    }
}

extension FieldReader {
    fileprivate mutating func actors() throws(CBORError) -> [Hello.OwnedActor] {
        try list(atMost: SyncLimits.ownedActorCount) { reader throws(CBORError) in
            try reader.record(2) { reader throws(CBORError) in
                let (high, low) = try reader.halves()
                return Hello.OwnedActor(
                    actor: ActorID(high: high, low: low), nonce: try reader.bytes(atMost: SyncLimits.keyByteCount))
            }
        }
    }
}

extension Hello {
    fileprivate init(_ reader: inout FieldReader) throws(CBORError) {
        self.init()
        lowestVersion = try reader.unsigned()
        highestVersion = try reader.unsigned()
        appID = try reader.text(atMost: SyncLimits.textByteCount)
        storeID = try reader.bytes16()
        identityKind = try reader.text(atMost: SyncLimits.textByteCount)
        peerKey = try reader.bytes(atMost: SyncLimits.keyByteCount)
        actors = try reader.actors()
        wallNanoseconds = try reader.unsigned()
        nonce = try reader.bytes(atMost: SyncLimits.keyByteCount)
        isKeeper = try reader.bool()
        name = try reader.text(atMost: SyncLimits.textByteCount)
        operatingSystem = try reader.text(atMost: SyncLimits.textByteCount)
        softwareVersion = try reader.text(atMost: SyncLimits.textByteCount)
    }
}

extension InterestMessage {
    fileprivate init(_ reader: inout FieldReader) throws(CBORError) {
        self.init()
        number = try reader.unsigned()
        origins = try reader.list(atMost: SyncLimits.announcedInterestCount) { reader throws(CBORError) in
            try reader.record(4) { reader throws(CBORError) in
                AnnouncedInterest(
                    origin: try reader.bytes16(), version: try reader.unsigned(), hops: try reader.unsigned(),
                    interest: try reader.interest())
            }
        }
        if try !reader.null() {
            cursor = try reader.record(4) { reader throws(CBORError) in
                let incarnation = try reader.bytes16()
                let sequence = try reader.count()
                let (high, low) = try reader.halves()
                return Cursor(
                    incarnation: incarnation, sequence: sequence, interestHash: StateDigest(high: high, low: low),
                    epoch: try reader.unsigned())
            }
        }
        toldCount = try reader.count()
        let (high, low) = try reader.halves()
        toldSum = DigestSum(high: high, low: low)
        epoch = try reader.unsigned()
        have = try reader.list(atMost: SyncLimits.haveCount) { reader throws(CBORError) in
            try reader.record(3) { reader throws(CBORError) in
                HeldDocument(name: try reader.name(), seen: try reader.vector())
            }
        }
        apart = try reader.outcomes()
    }
}

extension RangesMessage {
    fileprivate init(_ reader: inout FieldReader) throws(CBORError) {
        self.init(number: try reader.unsigned(), bytes: try reader.bytes(atMost: .max))
    }
}

extension Begin {
    fileprivate init(_ reader: inout FieldReader) throws(CBORError) {
        self.init(number: try reader.unsigned(), snapshot: try reader.unsigned())
        isReconciled = try reader.bool()
        isChunk = try reader.bool()
        if try !reader.null() { remainingCount = try reader.unsigned() }
    }
}

extension End {
    fileprivate init(_ reader: inout FieldReader) throws(CBORError) {
        self.init(number: try reader.unsigned(), position: nil, total: nil)
        if try !reader.null() {
            position = try reader.record(2) { reader throws(CBORError) in
                Position(incarnation: try reader.bytes16(), sequence: try reader.count())
            }
        }
        if try !reader.null() { total = try reader.total() }
    }
}

extension FieldReader {
    fileprivate mutating func total() throws(CBORError) -> ScopeTotal {
        try record(2) { reader throws(CBORError) in
            let count = try reader.count()
            let (high, low) = try reader.halves()
            return ScopeTotal(count: count, sum: DigestSum(high: high, low: low))
        }
    }

    fileprivate mutating func outcomes() throws(CBORError) -> [DocumentOutcome] {
        try list(atMost: SyncLimits.outcomeCount) { reader throws(CBORError) in
            try reader.record(5) { reader throws(CBORError) in
                DocumentOutcome(
                    name: try reader.name(), code: RefusalCode(rawValue: try reader.unsigned()),
                    epoch: try reader.unsigned(), reason: try reader.text(atMost: SyncLimits.textByteCount))
            }
        }
    }

    fileprivate mutating func interest() throws(CBORError) -> Interest {
        if isAtBool {
            guard try bool() else { throw .malformed }
            return .everything
        }
        return .collections(
            try list(atMost: SyncLimits.interestCollectionCount) { reader throws(CBORError) in
                try reader.record(2) { reader throws(CBORError) in
                    Interest.Element(
                        collection: try reader.collection(),
                        predicate: try reader.text(atMost: SyncLimits.predicateByteCount))
                }
            })
    }
}
