/// The text in quotation marks as errors show it: cut to 80 characters, characters without a shape escaped.
func quoted(_ text: some StringProtocol) -> String {
    // What a terminal would obey rather than show: control characters, and marks that turn the writing direction.
    let isHidden = { (scalar: Unicode.Scalar) in
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: true
        default: false
        }
    }
    var shown = ""
    for scalar in text.unicodeScalars.prefix(80) {
        if isHidden(scalar) {
            shown += scalar.escaped(asASCII: true)
        } else {
            shown.unicodeScalars.append(scalar)
        }
    }
    return "\"\(shown)\(text.unicodeScalars.count > 80 ? "..." : "")\""
}

/// `1 line`, `2 lines`.
func counted(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
