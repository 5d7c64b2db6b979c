package import DocDBCore

/// A predicate over documents: the tree that a text in the predicate language stands for.
///
/// Two-valued: every node is true or false for every document. Build nested nodes with the `all(of:)`, `any(of:)` and
/// `negated` forms, which keep the one normal form that `description` prints. Grammar and meaning:
/// `Schemas/predicates.md`.
package indirect enum Filter: Equatable, Sendable {
    /// All of them hold; two or more, none of them an `and`.
    case and([Filter])
    /// At least one of them holds; two or more, none of them an `or`.
    case or([Filter])
    /// The condition does not hold.
    case not(Filter)
    /// The operand is the value `true`.
    case isTrue(Operand)
    case compare(Comparison, Operand, Operand)
    /// A value of the left operand equals an element of the right one.
    case isIn(Operand, Operand)
    /// A value of the first operand lies between the two others, both included.
    case between(Operand, Operand, Operand)
    /// The whole text matches a pattern of `%` (any text) and `_` (any one scalar).
    case like(Operand, ExactText)
    case startsWith(Operand, Operand)
    case endsWith(Operand, Operand)
    /// An array has an element, or a text has a part.
    case contains(Operand, Operand)
    /// A part of the text matches a regular expression.
    case regex(Operand, ExactText)
    case exists(Path)
    case isMissing(Path)

    /// The operators between two operands.
    package enum Comparison: String, Sendable, BitwiseCopyable {
        case equal = "=="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="

        /// The operator that says the same with the operands swapped.
        package var swapped: Comparison {
            switch self {
            case .equal, .notEqual: self
            case .less: .greater
            case .lessOrEqual: .greaterOrEqual
            case .greater: .less
            case .greaterOrEqual: .lessOrEqual
            }
        }
    }

    /// What stands on either side of an operator.
    package indirect enum Operand: Equatable, Sendable {
        /// A literal of the text, or an argument.
        case literal(Value)
        /// The word `missing`, which equals missing values only.
        case missing
        case path(Path)
        case function(Function, Operand)
        /// A condition used as a value: `true` or `false`; never an `isTrue`.
        case condition(Filter)
    }

    /// The functions of one operand that give a value.
    package enum Function: String, Sendable, CaseIterable {
        case length, sum, lower, upper, abs, type
    }

    /// Steps from a document, or from the element that an element filter looks at, to values in it.
    package struct Path: Equatable, Sendable {
        /// The steps; none names the element itself.
        package var steps: [Step]

        package init(_ steps: [Step]) { self.steps = steps }
        package init(names: [String]) { steps = names.map { .name(ExactText($0)) } }

        /// Tells whether the path may lead to more than one value.
        package var isMultiValued: Bool {
            steps.contains {
                switch $0 {
                case .all, .filter: true
                case .name, .index: false
                }
            }
        }
    }

    /// One step of a path.
    package enum Step: Equatable, Sendable {
        /// The member of an object with this name.
        case name(ExactText)
        /// The element of an array at this position; negative positions count from the end.
        case index(Int64)
        /// Every element of an array.
        case all
        /// Every element of an array for which the filter holds; its paths begin at the element.
        case filter(Filter)
    }

    /// A text that equals only the text of the same bytes.
    package struct ExactText: Equatable, Sendable {
        package let string: String
        package init(_ string: String) { self.string = string }

        package static func == (left: ExactText, right: ExactText) -> Bool {
            left.string.utf8.elementsEqual(right.string.utf8)
        }
    }
}

extension Filter {
    /// The filter that every document matches.
    package static let everything = Filter.isTrue(.literal(.bool(true)))
    /// The filter that no document matches.
    package static let nothing = Filter.isTrue(.literal(.bool(false)))

    /// The conjunction of filters, in normal form.
    package static func all(of filters: [Filter]) -> Filter {
        let flat = filters.flatMap { if case .and(let parts) = $0 { parts } else { [$0] } }
        return flat.isEmpty ? .everything : flat.count == 1 ? flat[0] : .and(flat)
    }

    /// The disjunction of filters, in normal form.
    package static func any(of filters: [Filter]) -> Filter {
        let flat = filters.flatMap { if case .or(let parts) = $0 { parts } else { [$0] } }
        return flat.isEmpty ? .nothing : flat.count == 1 ? flat[0] : .or(flat)
    }

    /// The negation, in normal form.
    package var negated: Filter {
        switch self {
        case .not(let inner): inner
        case .compare(.equal, let left, let right): .compare(.notEqual, left, right)
        case .compare(.notEqual, let left, let right): .compare(.equal, left, right)
        default: .not(self)
        }
    }

    /// The filter that holds where an operand is `true`, in normal form.
    package static func truth(of operand: Operand) -> Filter {
        if case .condition(let filter) = operand { filter } else { .isTrue(operand) }
    }

    /// The condition as an operand, in normal form.
    package var operand: Operand {
        if case .isTrue(let operand) = self { operand } else { .condition(self) }
    }
}

extension Filter.Operand {
    /// Tells whether the operand may have more than one value.
    package var isMultiValued: Bool {
        switch self {
        case .path(let path): path.isMultiValued
        case .function(.length, _), .function(.sum, _): false
        case .function(_, let argument): argument.isMultiValued
        case .literal, .missing, .condition: false
        }
    }
}
