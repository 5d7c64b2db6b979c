package import DocDBCore

/// A filter compiled for the bodies of one store: tells which documents match, in place and without allocating.
///
/// One thread at a time: it reuses its scratch space. Complexity of a match: O(bytes of the body up to the last field
/// that the filter names), plus what functions and array paths read, at most `QueryLimits.evaluationStepCount` steps.
package final class Evaluator {
    /// Tells whether the filter looks at `_id`; else `matches` ignores the id.
    package let usesID: Bool
    private let machine: Machine
    private let root: Int32
    /// The names that bodies had when this was compiled, and the filter's names that none had then.
    private let compiledNameCount: Int
    private let unknownNames: [String]
    // Owned here, used by the machine.
    private let memory: ProgramMemory
    private let patterns: [RegexPattern]
    private let names: FieldNames

    /// Compiles a filter.
    ///
    /// - Parameters:
    ///   - names: The field names of the store whose bodies are matched.
    ///   - stepCount: The most steps of a match on one document; one that needs more is denied.
    /// - Complexity: O(size of the filter), plus sorting the literals of `in`.
    package init(_ filter: Filter, names: FieldNames, stepCount: Int = QueryLimits.evaluationStepCount) {
        var compiler = Compiler(names: names)
        compiler.stepCount = stepCount
        root = compiler.compile(filter)
        machine = compiler.makeMachine()
        usesID = compiler.usesID
        compiledNameCount = compiler.nameCount
        unknownNames = compiler.unknownNames
        memory = compiler.memory
        patterns = compiler.patterns
        self.names = names
    }

    deinit { machine.destroy() }

    /// Tells whether a document matches; false also where its bytes are damaged or a limit is reached.
    ///
    /// - Parameters:
    ///   - body: The document's body: a deterministic CBOR map with interned keys.
    ///   - id: The canonical CBOR of its `_id`, keys as text; only read where `usesID`.
    package func matches(body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) -> Bool {
        machine.matches(root, body: body, id: id)
    }

    /// Tells whether the document last looked at has malformed bytes, as far as they were read.
    package var isDamaged: Bool { machine.state.pointee.isDamaged }

    /// Tells whether the last match ended at a limit of steps or of a regular expression, and was denied for that.
    package var didExhaustLimits: Bool { machine.state.pointee.isExhausted }

    /// Tells whether a name of the filter that no body had when it was compiled has been interned since.
    ///
    /// Ask once a snapshot has begun; its documents have no later names.
    package func needsRecompile(_ names: FieldNames) -> Bool {
        names.count != compiledNameCount && unknownNames.contains { names.number(of: $0) != nil }
    }
}
