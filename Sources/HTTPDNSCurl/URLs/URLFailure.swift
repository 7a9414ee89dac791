/// The reason why a text is not a URL that can be requested.
package struct URLFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// A space, a control character, or a backslash before the path.
        case forbiddenByte
        /// Neither http nor https, or no scheme at all.
        case unsupportedScheme
        case missingHost
        case malformed
        /// A number form of an address that programs read differently: `0x7f.1`, `2130706433`, a zone identifier.
        case addressForm
        case port
        /// A host outside ASCII that has no A-label form.
        case internationalName
    }

    package var code: Code
    /// The reason in one line, with the allowed form. It never contains user information.
    package var description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
