/// The content codings that a head declares, as far as this module decodes them.
struct DeclaredCoding {
    private enum Content {
        case none
        case one(Inflater.Coding)
        /// Codings that only libcurl knows, or several codings.
        case others
    }

    private var content = Content.none

    /// Whether the body has a coding that ``Inflater`` does not know, or several.
    var isUnknown: Bool {
        if case .others = content { true } else { false }
    }

    /// The single coding that this module decodes; `nil` for none, for one of libcurl's, and for several.
    var inflated: Inflater.Coding? {
        if case .one(let coding) = content { coding } else { nil }
    }

    /// Whether the head declares any coding.
    var isDeclared: Bool { if case .none = content { false } else { true } }

    /// Reads a line of the head, including its end.
    mutating func read(_ line: UnsafeRawBufferPointer) {
        guard let value = line.value(of: DeclaredCoding.name) else { return }
        guard case .none = content else { return content = .others }
        let text = value.drop { $0 <= 0x20 }.prefix { $0 > 0x20 && $0 != UInt8(ascii: ",") }
        let isAlone = value[text.endIndex...].allSatisfy { $0 <= 0x20 }
        switch isAlone ? String(decoding: text, as: UTF8.self).lowercased() : "" {
        case "gzip", "x-gzip": content = .one(.gzip)
        case "deflate": content = .one(.deflate)
        case "identity": break
        default: content = .others
        }
    }

    private static let name: StaticString = "content-encoding:"
}
