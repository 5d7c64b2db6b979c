import DocDBCore

// Documents that are too large to be sent stand apart: they are in no scope, are told, and hold up nothing else.
extension Session {
    func isSendable(_ document: StoredDocument) -> Bool {
        !isOn(.sizes) || DocumentMeasure.isSendable(document, names: replica.names, actors: replica.actors)
    }

    /// The same of a state that is not stored any more.
    ///
    /// - Parameter body: nil where the document is dead.
    func isSendable(
        _ state: DocumentState, body: UnsafeRawBufferPointer?, _ reference: DocumentReference,
        _ id: UnsafeRawBufferPointer
    ) -> Bool {
        guard isOn(.sizes), !DocumentMeasure.isSmall(state, bodyByteCount: body?.count ?? 0) else { return true }
        var bodyBytes = ByteBuffer()
        var stateBytes = ByteBuffer()
        let isAlive = state.encode(into: &bodyBytes, state: &stateBytes, actors: replica.actors)
        return isSendable(
            StoredDocument(
                reference: reference, id: id, body: isAlive ? bodyBytes.bytes : nil, state: stateBytes.bytes,
                lastChange: 0))
    }

    /// Marks the documents that have turned out to be too large, and takes the mark off those that are so no more.
    ///
    /// One that fits and is in scope again loses it when the peer acknowledges it.
    func settleSizes() throws {
        let marks = provider.tooLarge.sorted().map {
            ApartDocument(
                peer: peer.number, side: .there, reference: $0, code: .limit, epoch: 0, reason: Self.reason(.limit))
        }
        let settled = provider.fitting.subtracting(provider.tooLarge).filter { apart.there[$0]?.code == .limit }
            .sorted()
        provider.tooLarge = []
        provider.fitting = []
        let added = marks.filter { apart.there[$0.reference] != $0 }
        guard !added.isEmpty || !settled.isEmpty else { return }
        try replica.write { writer in
            for reference in settled { try writer.removeApart(peer: peer.number, side: .there, reference) }
            for document in added { try writer.setApart(document) }
            if let record = try writer.peer(storeID: peer.storeID) { peer = record }
        }
        for reference in settled {
            apart.there[reference] = nil
            effects.append(.settled(reference, peer: peer.number, .there))
        }
        for document in added {
            apart.there[document.reference] = document
            effects.append(.apart(document))
        }
    }
}
