package import HTTPDNSPrimitives

/// getaddrinfo on a bounded pool, abandoned at its deadline.
package final class SystemResolver: SystemResolving {
    package init(workers: Int = 4, maximumQueued: Int = 256) {
        fatalError("seam")
    }

    package func resolve(
        _ host: HostName,
        families: AddressFamilies,
        timeLimit: Duration
    ) async throws(SystemResolverError) -> [IPAddress] {
        fatalError("seam")
    }
}
