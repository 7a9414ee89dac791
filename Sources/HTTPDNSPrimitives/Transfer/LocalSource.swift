extension HTTPDNSTransfer {
    /// The local interface or address of connections.
    public enum LocalSource: Hashable, Sendable, CustomStringConvertible {
        /// A network interface, such as `eth0` (CURLOPT_INTERFACE with `if!`).
        case interface(String)
        /// An address of this machine. Endpoints of the other family cannot be reached from it.
        case address(HTTPDNSAddress)

        /// The interface's name, or the address.
        public var description: String {
            switch self {
            case .interface(let name): name
            case .address(let address): address.description
            }
        }
    }
}
