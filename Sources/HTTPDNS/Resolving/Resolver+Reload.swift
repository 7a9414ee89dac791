internal import HTTPDNSPrimitives

extension Resolver {
    /// Takes other settings while it runs: all of them or, with a mistake in one, none.
    ///
    /// The mappings given become the base (``MappingStore/replaceBase(with:)``). What was applied as an overlay stays.
    /// - Returns: From which generation on it holds, and what needs a restart.
    /// - Throws: ``ResolverConfigurationError``; then nothing has changed.
    @discardableResult
    public func reload(_ settings: ResolverConfiguration) throws(ResolverConfigurationError) -> ReloadResult {
        do {
            let generation = try mappings.replaceBase(with: HostMappings(settings.mappings))
            return ReloadResult(generation: generation, isChanged: true)
        } catch {
            throw ResolverConfigurationError(
                message: "mapping \"\(error.key)\": \(error.reason)",
                location: error.location
            )
        }
    }
}
