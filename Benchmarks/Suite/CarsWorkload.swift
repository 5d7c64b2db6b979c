import CCrypto
import DocDB

/// Everything the cases work on: documents, updates, and the order of reads, made once in memory.
package final class CarsWorkload: Sendable {
    /// How much of everything there is.
    package struct Size: Equatable, Sendable {
        /// Documents of the store that the cases start from.
        package var documents: Int
        /// Further documents, for the cases that commit them one by one.
        package var extraDocuments: Int
        package var updates: Int
        /// Write transactions hold this many changes.
        package var batch: Int

        package static let full = Size(documents: 100_000, extraDocuments: 2_000, updates: 20_000, batch: 1_000)
        package static let tiny = Size(documents: 1_000, extraDocuments: 40, updates: 200, batch: 100)
    }

    package let size: Size
    /// The JSON texts of all documents, the extra ones last.
    package let texts: TextTable
    /// The ids of all documents, in the order of `texts`.
    package let ids: TextTable
    /// Positions of distinct documents with their new prices.
    package let updates: [(position: Int, price: Int)]
    /// Positions of all documents but the extra ones, in a random order.
    package let readOrder: [Int]

    package init(_ size: Size) {
        self.size = size
        let count = size.documents + size.extraDocuments
        var generator = CarGenerator()
        var bytes: [UInt8] = []
        var ends: [Int] = []
        bytes.reserveCapacity(count * 280)
        for _ in 0..<count {
            generator.appendNext(to: &bytes)
            ends.append(bytes.count)
        }
        texts = TextTable(bytes, ends: ends)
        var idBytes: [UInt8] = []
        var idEnds: [Int] = []
        for number in 1...count {
            idBytes += CarGenerator.id(ofNumber: number).utf8
            idEnds.append(idBytes.count)
        }
        ids = TextTable(idBytes, ends: idEnds)
        var updates: [(position: Int, price: Int)] = []
        for position in generator.shuffledNumbers(size.documents).prefix(size.updates) {
            updates.append((position, generator.nextPrice()))
        }
        self.updates = updates
        readOrder = generator.shuffledNumbers(size.documents)
    }

    /// Positions of the documents that a store holds before a case adds to it.
    package var documentRange: Range<Int> { 0..<size.documents }
    /// Positions of the extra documents.
    package var extraRange: Range<Int> { size.documents..<size.documents + size.extraDocuments }

    /// The id of the document at a position.
    func documentID(_ position: Int) -> DocumentID {
        DocumentID(stringLiteral: String(decoding: ids[position], as: UTF8.self))
    }

    /// SHA-256 of all JSON texts, of the updates ("id TAB price NEWLINE"), and of the read order ("id NEWLINE"), in hexadecimal.
    package func fingerprints() -> (texts: String, updates: String, readOrder: String) {
        let updateLines = updates.map { "\(CarGenerator.id(ofNumber: $0.position + 1))\t\($0.price)\n" }.joined()
        let readLines = readOrder.map { "\(CarGenerator.id(ofNumber: $0 + 1))\n" }.joined()
        return (
            sha256(texts.all), Array(updateLines.utf8).withUnsafeBufferPointer(sha256),
            Array(readLines.utf8).withUnsafeBufferPointer(sha256)
        )
    }
}

private func sha256(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    SHA256(bytes.baseAddress, bytes.count, &digest)
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
