extension TencentProvider {
    /// A site of the service: the word that it goes by here, and where its HTTPS entry is.
    public struct Region: Hashable, Sendable {
        /// The word for it in a configuration file, such as `cn`.
        public let identifier: String
        /// The HTTPS entry. Its host is an address, which its certificate must be for.
        public let url: String

        /// The site in mainland China (`cn`).
        public static let mainlandChina = Region(identifier: "cn", url: "https://119.29.29.99")
        /// The international site (`intl`). Documents of some dates say that its HTTPS entry is not opened.
        public static let international = Region(identifier: "intl", url: "https://43.132.55.56")

        /// All regions that there are.
        public static let all: [Region] = [.mainlandChina, .international]
    }
}
