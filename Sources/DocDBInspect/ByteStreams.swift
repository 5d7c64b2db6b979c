import DocDBCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The reader of the output has gone away, as `head` does; the tool ends quietly.
package struct OutputClosed: Error {
    package init() {}
}

/// Where output goes. One thread uses it.
package protocol ByteSink: AnyObject {
    /// Takes all the bytes.
    ///
    /// - Throws: `OutputClosed` where nobody reads them any more, `DocDBError` on other failures.
    func write(_ bytes: UnsafeRawBufferPointer) throws
}

extension ByteSink {
    package func write(_ text: String) throws {
        var text = text
        try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
    }
}

/// Where input comes from. One thread uses it.
package protocol ByteSource: AnyObject {
    /// Fills the front of `buffer` and returns how many bytes that were; 0 at the end.
    ///
    /// - Throws: `DocDBError` where reading fails.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
    /// How many bytes there are in all, where that is known beforehand.
    var byteCount: Int? { get }
}

/// A sink over a file descriptor, which it does not close.
package final class DescriptorSink: ByteSink {
    private let descriptor: Int32

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while let base = rest.baseAddress, !rest.isEmpty {
            #if canImport(Glibc)
                let written = Glibc.write(descriptor, base, rest.count)
            #elseif canImport(Musl)
                let written = Musl.write(descriptor, base, rest.count)
            #else
                let written = Darwin.write(descriptor, base, rest.count)
            #endif
            if written < 0 {
                let code = errno
                if code == EINTR { continue }
                if code == EPIPE { throw OutputClosed() }
                throw SystemFailure.error("cannot write the output", code)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(written))
        }
    }
}

/// Collects small writes before they reach another sink; flush it at the end.
package final class BufferedSink: ByteSink {
    private static let capacity = 64 * 1024
    private let sink: any ByteSink
    private var pending: [UInt8] = []

    package init(_ sink: any ByteSink) {
        self.sink = sink
        pending.reserveCapacity(Self.capacity)
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        if pending.count + bytes.count > Self.capacity { try flush() }
        if bytes.count >= Self.capacity {
            try sink.write(bytes)
        } else {
            pending.append(contentsOf: bytes)
        }
    }

    package func flush() throws {
        defer { pending.removeAll(keepingCapacity: true) }
        if !pending.isEmpty { try pending.withUnsafeBytes { try sink.write($0) } }
    }
}

/// A source over a file or an open descriptor.
package final class DescriptorSource: ByteSource {
    private let descriptor: Int32
    private let closes: Bool
    package let byteCount: Int?
    /// Asked where a signal broke off a read: true ends the input there.
    private let isInterrupted: () -> Bool

    /// Reads an open descriptor, such as standard input.
    package init(descriptor: Int32, isInterrupted: @escaping () -> Bool) {
        self.descriptor = descriptor
        self.isInterrupted = isInterrupted
        closes = false
        byteCount = Self.byteCount(of: descriptor)
    }

    /// Opens a file.
    ///
    /// - Throws: `DocDBError` where there is none, it is a directory, or it may not be read.
    package init(path: String, isInterrupted: @escaping () -> Bool) throws {
        let opened = open(path, O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { throw SystemFailure.error("cannot read \(path)", errno) }
        var facts = stat()
        if fstat(opened, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR {
            close(opened)
            throw DocDBError(.misuse, "\(path) is a directory; name a JSON or JSON Lines file, or - for standard input")
        }
        descriptor = opened
        self.isInterrupted = isInterrupted
        closes = true
        byteCount = Self.byteCount(of: opened)
    }

    deinit { if closes { close(descriptor) } }

    private static func byteCount(of descriptor: Int32) -> Int? {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(facts.st_size)
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            #if canImport(Glibc)
                let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            #elseif canImport(Musl)
                let count = Musl.read(descriptor, buffer.baseAddress, buffer.count)
            #else
                let count = Darwin.read(descriptor, buffer.baseAddress, buffer.count)
            #endif
            if count >= 0 { return count }
            let code = errno
            guard code == EINTR else { throw SystemFailure.error("cannot read the input", code) }
            if isInterrupted() { return 0 }
        }
    }
}

/// Failures of system calls as errors a person can act on.
enum SystemFailure {
    static func error(_ action: String, _ code: Int32) -> DocDBError {
        switch code {
        case ENOENT: DocDBError(.misuse, "\(action): there is no such file; check the path")
        case EACCES, EPERM: DocDBError(.misuse, "\(action): permission denied; check the file's mode and owner")
        case ENOSPC, EDQUOT: DocDBError(.diskFull, "\(action): the disk is full; free some space")
        default: DocDBError(.storageFailed, "\(action): \(String(cString: strerror(code)))")
        }
    }
}
