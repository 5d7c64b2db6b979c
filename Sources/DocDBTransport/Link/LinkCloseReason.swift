/// Why a link closed, or shall close: a code as in RFC 6455 (7.4), a text for people, and who said it.
package struct LinkCloseReason: Sendable, Hashable, CustomStringConvertible {
    /// The close code; codes of DocDB's own are in 4000 ... 4999.
    package var code: UInt16
    /// What happened, for people; at most `textByteLimit` bytes of it travel.
    package var text: String
    /// Whether the other side closed the link or vanished.
    package var isRemote: Bool

    /// The most bytes of text that fit into a WebSocket's close frame.
    package static let textByteLimit = 123

    package init(code: UInt16, text: String, isRemote: Bool = false) {
        self.code = code
        self.text = text
        self.isRemote = isRemote
    }

    package var description: String { text.isEmpty ? "\(code)" : "\(code): \(text)" }

    /// The text's bytes, cut at a character to what a close frame holds.
    package var textBytes: [UInt8] {
        var bytes = [UInt8](text.utf8)
        guard bytes.count > Self.textByteLimit else { return bytes }
        bytes.removeSubrange(Self.textByteLimit...)
        while let last = bytes.last, last & 0xC0 == 0x80 { bytes.removeLast() }
        if let last = bytes.last, last >= 0xC0 { bytes.removeLast() }
        return bytes
    }
}

extension LinkCloseReason {
    /// 1000: the session has ended as intended.
    package static func normal(_ text: String = "") -> Self { Self(code: 1000, text: text) }
    /// 1001: this peer is shutting down.
    package static func goingAway(_ text: String = "shutting down") -> Self { Self(code: 1001, text: text) }
    /// 1002: the other side broke the protocol.
    package static func protocolError(_ text: String) -> Self { Self(code: 1002, text: text) }
    /// 1003: a text frame came; only binary frames are understood.
    package static let textFrame = Self(code: 1003, text: "only binary frames are understood")
    /// 1006: the connection was lost without a word; never sent.
    package static func lost(_ text: String = "the connection was lost") -> Self {
        Self(code: 1006, text: text, isRemote: true)
    }
    /// 1008: the other side may not do what it tried.
    package static func refused(_ text: String) -> Self { Self(code: 1008, text: text) }
    /// 1009: a frame came that is larger than the link's limit.
    package static func frameTooLarge(limit: Int) -> Self {
        Self(code: 1009, text: "a frame is larger than the limit of \(limit) bytes")
    }
    /// 1011: this peer failed.
    package static func failed(_ text: String) -> Self { Self(code: 1011, text: text) }
    /// 4002: this peer is too busy; try again later. (1013 does not pass every WebSocket library.)
    package static func busy(_ text: String) -> Self { Self(code: 4002, text: text) }
    /// 4000: the other side has been silent for too long.
    package static let silent = Self(code: 4000, text: "the other side was silent for too long")
    /// 4001: what was queued could not be sent in time.
    package static let stalled = Self(code: 4001, text: "the other side did not take what was sent in time")
}
