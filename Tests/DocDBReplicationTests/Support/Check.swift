import Testing

/// Expects a condition whose evaluation changes what it looks at, which `#expect` cannot take apart.
func check(_ holds: Bool, _ comment: Comment? = nil, at location: SourceLocation = #_sourceLocation) {
    #expect(holds, comment, sourceLocation: location)
}
