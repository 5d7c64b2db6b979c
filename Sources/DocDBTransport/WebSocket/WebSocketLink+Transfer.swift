import CWebSockets
import DocDBCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Sending, on the service thread.
extension WebSocketLink {
    /// A piece of a frame, laid out for the library.
    private struct Piece {
        var count: Int
        var isFirst: Bool
        var isLast: Bool
    }

    /// Writes what one turn allows; a negative result closes the socket.
    func writable(_ handle: OpaquePointer) -> Int32 {
        guard !hasEnded else { return -1 }
        guard !hasSentClose else { return 0 }
        if isPingDue, !outgoing.withLock({ $0.sentByteCount > 0 }) {
            isPingDue = false
            guard ping(handle) else { return -1 }
            // One write a call where a choked socket is not asked about.
            if lws_send_pipe_choked(handle) != 0 {
                lws_callback_on_writable(handle)
                return 0
            }
        }
        var writeCount = 0
        var byteCount = 0
        while writeCount < TransportLimits.turnWriteCount, byteCount < TransportLimits.turnByteCount {
            guard let piece = fillScratch() else { break }
            guard write(piece, handle) else { return -1 }
            writeCount += 1
            byteCount += piece.count
            if lws_send_pipe_choked(handle) != 0 { break }
        }
        return endTurn(handle)
    }

    /// Asks for another turn, tells of a queue that has drained, or closes.
    private func endTurn(_ handle: OpaquePointer) -> Int32 {
        let (hasMore, hasDrained, closing) = outgoing.withLock { outgoing -> (Bool, Bool, LinkCloseReason?) in
            let hasMore = outgoing.sentCount < outgoing.frames.count
            if !hasMore { outgoing.isScheduled = false }
            let hasDrained = outgoing.isAboveLowWater && outgoing.queuedByteCount <= options.lowWaterByteCount
            if hasDrained { outgoing.isAboveLowWater = false }
            return (hasMore, hasDrained, hasMore ? nil : outgoing.closing)
        }
        if let closing { return close(closing, handle) }
        if hasMore { lws_callback_on_writable(handle) }
        if hasDrained { handler?.linkDidDrain(self) }
        return 0
    }

    /// Copies the next piece of the queue behind the headroom; nil where there is none.
    private func fillScratch() -> Piece? {
        outgoing.withLock { outgoing in
            guard outgoing.sentCount < outgoing.frames.count else { return nil }
            let offset = outgoing.sentByteCount
            return outgoing.frames[outgoing.sentCount].withUnsafeBytes { frame in
                let count = min(frame.count - offset, TransportLimits.chunkByteCount)
                if count > 0, let base = frame.baseAddress {
                    memcpy(loop.scratch + Int(docdb_lws_pre), base + offset, count)
                }
                return Piece(count: count, isFirst: offset == 0, isLast: offset + count == frame.count)
            }
        }
    }

    private func write(_ piece: Piece, _ handle: OpaquePointer) -> Bool {
        var flags = piece.isFirst ? docdb_lws_write_binary : docdb_lws_write_continuation
        if !piece.isLast { flags |= docdb_lws_write_no_fin }
        let status = lws_write(
            handle, loop.scratch + Int(docdb_lws_pre), piece.count, lws_write_protocol(UInt32(bitPattern: flags)))
        guard Int(status) >= piece.count else { return false }
        outgoing.withLock { $0.didSend(piece.count, isLast: piece.isLast) }
        return true
    }

    private func ping(_ handle: OpaquePointer) -> Bool {
        // The library does not report an answer to an empty one.
        let payload = loop.scratch + Int(docdb_lws_pre)
        payload[0] = UInt8(ascii: "d")
        let type = lws_write_protocol(UInt32(bitPattern: docdb_lws_write_ping))
        return lws_write(handle, payload, 1, type) >= 0
    }

    /// Sends a close frame and waits for that of the other side.
    ///
    /// The frame is sent as any other: the library's own way of closing sends none over libuv where it was built for debugging.
    private func close(_ reason: LinkCloseReason, _ handle: OpaquePointer) -> Int32 {
        // No frame can follow bytes that the library still holds back.
        if lws_partial_buffered(handle) != 0 {
            lws_callback_on_writable(handle)
            return 0
        }
        hasSentClose = true
        self.reason = self.reason ?? reason
        closeDeadline = closeDeadline ?? loop.now + TransportLimits.closeSeconds
        let payload =
            [UInt8(truncatingIfNeeded: reason.code >> 8), UInt8(truncatingIfNeeded: reason.code)]
            + reason.textBytes
        let start = loop.scratch + Int(docdb_lws_pre)
        for (offset, byte) in payload.enumerated() { start[offset] = byte }
        let type = lws_write_protocol(UInt32(bitPattern: docdb_lws_write_close))
        guard lws_write(handle, start, payload.count, type) >= 0 else { return -1 }
        lws_rx_flow_control(handle, 1)
        return 0
    }
}

extension WebSocketLink.Outgoing {
    /// Forgets what has not been sent.
    mutating func dropQueue() {
        frames = []
        sentCount = 0
        sentByteCount = 0
        queuedByteCount = 0
    }

    /// Takes off what has been written.
    mutating func didSend(_ count: Int, isLast: Bool) {
        queuedByteCount -= count
        guard isLast else {
            sentByteCount += count
            return
        }
        sentByteCount = 0
        frames[sentCount] = []
        sentCount += 1
        if sentCount == frames.count {
            // A long queue's storage goes, a short one's is used again.
            frames.removeAll(keepingCapacity: frames.count <= 16)
            sentCount = 0
        } else if sentCount >= 1024, sentCount * 2 >= frames.count {
            frames.removeFirst(sentCount)
            sentCount = 0
        }
    }
}

// Receiving, on the service thread.
extension WebSocketLink {
    /// Takes a piece of a frame; a negative result closes the socket.
    func received(_ input: UnsafeMutableRawPointer?, _ count: Int, _ handle: OpaquePointer) -> Int32 {
        lastReceived = loop.now
        guard !hasEnded, reason == nil || closeDeadline != nil else { return -1 }
        // Once this side closes, what still comes is of no interest.
        guard closeDeadline == nil else { return 0 }
        guard lws_frame_is_binary(handle) != 0 else { return abort(.textFrame, handle) }
        let remaining = lws_remaining_packet_payload(handle)
        let limit = frameByteLimit
        let (total, isTooLong) = (assembly.count + count).addingReportingOverflow(Int(clamping: remaining))
        guard !isTooLong, total <= limit else { return abort(.frameTooLarge(limit: limit), handle) }
        let bytes = UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : count)
        let isLast = lws_is_final_fragment(handle) != 0
        if isLast, assembly.isEmpty {
            handler?.link(self, didReceive: [UInt8](bytes))
            return 0
        }
        if assembly.isEmpty { assembly.reserveCapacity(min(total, TransportLimits.reservedByteCount)) }
        assembly.append(contentsOf: bytes)
        guard isLast else { return 0 }
        let frame = assembly
        assembly = []
        handler?.link(self, didReceive: frame)
        return 0
    }

    /// Closes without what is queued and without reading on, telling the other side why.
    func abort(_ reason: LinkCloseReason, _ handle: OpaquePointer) -> Int32 {
        self.reason = reason
        closeDeadline = loop.now + TransportLimits.closeSeconds
        outgoing.withLock { outgoing in
            outgoing.closing = reason
            outgoing.dropQueue()
        }
        assembly = []
        lws_rx_flow_control(handle, 0)
        lws_callback_on_writable(handle)
        return 0
    }

    /// Notes why the other side closes: a code and a text, or nothing.
    func peerCloses(_ input: UnsafeMutableRawPointer?, _ count: Int) {
        guard reason == nil else { return }
        let bytes = UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : count)
        guard bytes.count >= 2 else {
            reason = LinkCloseReason(code: 1005, text: "", isRemote: true)
            return
        }
        reason = LinkCloseReason(
            code: UInt16(bytes[0]) << 8 | UInt16(bytes[1]),
            text: String(decoding: bytes.dropFirst(2).prefix(LinkCloseReason.textByteLimit), as: UTF8.self),
            isRemote: true)
    }

    /// Acts on the events that links of both sides have; nil where it is none of them.
    func act(on event: ServiceEvent) -> Int32? {
        switch event.reason {
        case LWS_CALLBACK_RECEIVE, LWS_CALLBACK_CLIENT_RECEIVE:
            return received(event.input, event.count, event.handle)
        case LWS_CALLBACK_SERVER_WRITEABLE, LWS_CALLBACK_CLIENT_WRITEABLE:
            return writable(event.handle)
        case LWS_CALLBACK_RECEIVE_PONG, LWS_CALLBACK_CLIENT_RECEIVE_PONG:
            lastReceived = loop.now
            return 0
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
            peerCloses(event.input, event.count)
            return hasSentClose ? -1 : 0
        case LWS_CALLBACK_CLOSED, LWS_CALLBACK_CLIENT_CLOSED:
            didEnd()
            return 0
        default:
            return nil
        }
    }
}
