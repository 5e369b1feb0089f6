"""Stage 1 alone: nonlinear features for a regressor of your own."""

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fepysr_dyn as fd

random = np.random.default_rng(0)
X = random.uniform(-2.0, 2.0, (200, 2))
y = np.exp(np.sin(X[:, 0])) + X[:, 0] * X[:, 1] + 0.02 * random.normal(size=200)

library = fd.extract_features(X, y, names=["x", "y"], seed=0).top()
for feature, count in list(zip(library.expressions, library.counts, strict=True))[:5]:
    print(f"{feature}  (in {count} training runs)")

# The same as a scikit-learn transformer: features are learnt anew in every fold, so nothing leaks.
lasso = make_pipeline(StandardScaler(), LassoCV(max_iter=50_000))
mapped = make_pipeline(fd.FeatureMapper(seed=0), StandardScaler(), LassoCV(max_iter=50_000))
for title, model in {"the variables": lasso, "the features": mapped}.items():
    score = cross_val_score(model, X, y, cv=3).mean()
    print(f"cross-validated R² of a lasso on {title}: {score:.3f}")
