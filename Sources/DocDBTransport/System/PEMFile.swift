import CWebSockets
import DocDBCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads the files that certificates and keys come in.
enum PEMFile {
    /// The most bytes such a file may have.
    private static let byteLimit = 4 * 1024 * 1024

    /// The bytes of a file.
    ///
    /// - Throws: `.certificateInvalid`, naming the file and what it should hold.
    static func bytes(_ path: String, _ content: String) throws(DocDBError) -> [UInt8] {
        guard let file = fopen(path, "rb") else {
            throw DocDBError(
                .certificateInvalid, "cannot read the \(content) from \(path): \(SystemErrors.text(errno))")
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while bytes.count <= byteLimit {
            let count = fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        guard !bytes.isEmpty, bytes.count <= byteLimit, ferror(file) == 0 else {
            throw DocDBError(.certificateInvalid, "\(path) does not hold the \(content); give a file in PEM")
        }
        return bytes
    }
}
