"""An Optuna sampler for several information sources with location-dependent costs."""
