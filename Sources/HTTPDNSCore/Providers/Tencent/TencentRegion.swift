extension TencentProvider {
    /// A site of the service, with its identifier and its HTTPS entry.
    public struct Region: Hashable, Sendable {
        /// The identifier in a configuration file, such as `cn`.
        public let identifier: String
        /// The URL of the HTTPS entry. Its host is an address, and its certificate must be valid for that address.
        public let url: String

        /// The site in mainland China (`cn`).
        public static let mainlandChina = Region(identifier: "cn", url: "https://119.29.29.99")
        /// The international site (`intl`). Some of the vendor's documents state that its HTTPS entry is not open.
        public static let international = Region(identifier: "intl", url: "https://43.132.55.56")

        /// All sites of the service.
        public static let all: [Region] = [.mainlandChina, .international]
    }
}
